"""Who opens the files behind a URL: TensorFlow's file systems, or TensorBoard's own."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Iterator
from typing import Any


def file_system_of(scheme: str) -> Any:
    """The module, of `tf.io.gfile`'s interface, that knows URLs of this scheme.

    TensorFlow's where it is imported, as in whatever trains; else TensorBoard's own, which knows
    what fsspec and boto3 are installed for. Whatever neither of them knows, TensorFlow may: it is
    then imported, which takes seconds.

    Raises:
        OSError: nobody knows the scheme.
    """
    # Imported where they are needed: fsspec takes a while, and most logs are local.
    from tensorboard.compat.tensorflow_stub.io import gfile as tensorboard_files

    is_tensorboards = _knows(tensorboard_files, scheme)
    if is_tensorboards and "tensorflow" not in sys.modules:
        return tensorboard_files
    from tensorboard.compat import tf

    schemes = getattr(tf.io.gfile, "get_registered_schemes", tuple)
    if scheme in schemes():
        return tf.io.gfile
    if is_tensorboards:
        return tensorboard_files
    raise OSError(
        errno.EPROTONOSUPPORT,
        f"nothing that is installed opens {scheme}:// (TensorFlow, boto3, fsspec); "
        "install fsspec's package for it, such as s3fs for s3://",
    )


def forget_listings(files: Any, url: str) -> None:
    """Makes a file system ask anew what lies in its folders.

    fsspec's for gs:// and s3:// keep what they listed for as long as the process lives; what a
    training writes meanwhile would never be seen.

    Arguments:
        files: as `file_system_of` gives them.
        url: of one of them.
    """
    kept_by = getattr(files, "FSSpecFileSystem", None)
    if kept_by is not None and isinstance(files.get_filesystem(url), kept_by):
        from fsspec.core import url_to_fs

        file_system, _ = url_to_fs(url)
        file_system.invalidate_cache()


def _knows(tensorboard_files: Any, scheme: str) -> bool:
    try:
        return tensorboard_files.get_filesystem(f"{scheme}://") is not None
    except (ValueError, ImportError):
        # fsspec knows more schemes than packages are installed for.
        return False


_NUMBERS = {
    "NotFoundError": errno.ENOENT,
    "PermissionDeniedError": errno.EACCES,
    "UnauthenticatedError": errno.EACCES,
}


@contextlib.contextmanager
def os_errors(url: str) -> Iterator[None]:
    """Raises what a remote file system raises as the OSError that a local one would.

    Each of them has errors of its own: TensorFlow's, TensorBoard's, those of an HTTP library.
    """
    try:
        yield
    except OSError as error:
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        raise kind(error.errno or errno.EIO, _line(error), url) from error
    except Exception as error:
        number = _NUMBERS.get(type(error).__name__, errno.EIO)
        raise OSError(number, _line(error), url) from error


def _line(error: Exception) -> str:
    """The first line that it says; its name where it says nothing."""
    said = getattr(error, "strerror", None) or str(error)
    return next(iter(said.strip().splitlines()), type(error).__name__)
