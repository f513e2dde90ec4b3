"""What the converters raise, texts that are read so that it is raised, and folders that are written whole."""

import contextlib
import errno
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
    is_new, folder = not os.path.isdir(out), out
    os.makedirs(out, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=out, prefix="unfinished-") as folder:
            yield folder
            targets = {os.path.join(folder, name): os.path.join(out, name) for name in os.listdir(folder)}
            for target in targets.values():
                if os.path.isdir(target):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
            for name, target in targets.items():
                os.replace(name, target)
    except BaseException as error:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(out)
        # a file that is read, or has no number, keeps its message
        if isinstance(error, OSError) and error.errno and (not error.filename or error.filename2 or error.filename.startswith(folder)):
            raise OSError(error.errno, error.strerror, out) from error
        raise


def check_unpacked(path, size):
    """Refuses a compressed file that unpacks to `size` bytes or more. Trained weights hardly shrink and lists of words 10 times, but zeros
    1,000 times: 100 times is allowed, and 16 MiB always, for small files.
    """
    most = max(16 << 20, 100 * os.path.getsize(path))
    if size > most:
        raise Refused(f"{path}: unpacks to more than {most} bytes, for {os.path.getsize(path)} packed ones: expected a model")
