"""What the converters raise, texts that are read so that it is raised, and folders that are written whole."""

import contextlib
import io
import os
import tempfile


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


@contextlib.contextmanager
def written_whole(out):
    """A new folder whose files are moved to the folder `out` at the end of the block. If the block fails, as on a full disk, `out` is as
    before: weights of one model never stand beside the vocabulary of another. An OSError of a write names `out`.
    """
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix="unfinished-") as folder:
        try:
            yield folder
        except OSError as error:
            if error.filename and not error.filename2 and not error.filename.startswith(folder):
                raise  # a file that is read
            raise OSError(error.errno, error.strerror, out) from error
        for name in os.listdir(folder):
            os.replace(os.path.join(folder, name), os.path.join(out, name))


def check_unpacked(path, size):
    """Refuses a compressed file that unpacks to `size` bytes or more. Trained weights hardly shrink and lists of words 10 times, but zeros
    1,000 times: 100 times is allowed, and 16 MiB always, for small files.
    """
    most = max(16 << 20, 100 * os.path.getsize(path))
    if size > most:
        raise Refused(f"{path}: unpacks to more than {most} bytes, for {os.path.getsize(path)} packed ones: expected a model")
