"""What the converters raise, and texts that are read so that it is raised."""

import io
import os


class Refused(Exception):
    """A file that is not what was expected; the message names it, what in it is wrong, and what to do."""


def decoded(data, where):
    """The text of bytes; Refused if they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{where}: expected UTF-8: {error}") from error


def open_text(path, newline="\n"):
    """A file like open(), read whole; Refused if it is not UTF-8."""
    with open(path, "rb") as file:
        return io.StringIO(decoded(file.read(), path), newline)


def check_unpacked(path, size):
    """Refuses a compressed file that unpacks to `size` bytes or more. Trained weights hardly shrink and lists of words 10 times, but zeros
    1,000 times: 100 times is allowed, and 16 MiB always, for small files.
    """
    most = max(16 << 20, 100 * os.path.getsize(path))
    if size > most:
        raise Refused(f"{path}: unpacks to more than {most} bytes, for {os.path.getsize(path)} packed ones: expected a model")
