"""The converters' exception, readers of text that raise it, and output folders that are written completely or not at all."""

import contextlib
import errno
import io
import os
import tempfile


class Refused(Exception):
    """A file is not what was expected. The message names the file and what is wrong in it, and says what to do."""


def decoded(data, where):
    """Decode bytes to text; Refused if they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{where}: expected UTF-8: {error}") from error


def open_text(path, newline="\n"):
    """Read a file as open() would, at once; Refused if it is not UTF-8."""
    with open(path, "rb") as file:
        return io.StringIO(decoded(file.read(), path), newline)


@contextlib.contextmanager
def written_whole(out):
    """Yield a new folder whose files are moved to the folder `out` at the end of the block. If the block fails, as on a full disk,
    `out` stays as it was: weights of one model never get next to the vocabulary of another. An OSError of a write names `out`.
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
        # Errors of reading a file, and errors without a number, keep their message.
        if isinstance(error, OSError) and error.errno and (not error.filename or error.filename2 or error.filename.startswith(folder)):
            raise OSError(error.errno, error.strerror, out) from error
        raise


def check_unpacked(path, size):
    """Refuse a compressed file if it unpacks to too many bytes. Trained weights hardly shrink, and lists of words shrink 10 times,
    but zeros 1,000 times. So 100 times is allowed, and 16 MiB always, for small files.
    """
    most = max(16 << 20, 100 * os.path.getsize(path))
    if size > most:
        raise Refused(f"{path}: unpacks to more than {most} bytes, for {os.path.getsize(path)} packed ones: expected a model")
