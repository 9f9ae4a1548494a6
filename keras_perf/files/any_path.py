"""Local and remote paths alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from keras_perf.files.remote_path import RemotePath, is_remote, require_whole

AnyPath: TypeAlias = Path | RemotePath


def any_path(path: str | os.PathLike[str]) -> AnyPath:
    """A local path, or that of a URL.

    Raises:
        TypeError: neither a str nor an os.PathLike of one.
        ValueError: it is empty, or a URL that was a `pathlib.Path`.
    """
    text: object = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        got = f"{type(path).__name__} {path!r}"
        raise TypeError(f"a path must be a str or os.PathLike, got {got}. Give 'logs/run1', say.")
    return RemotePath.of(text) if is_remote(text) else Path(require_whole(text))


def from_here(path: str) -> str:
    """It as seen from the working directory, if it lies below that."""
    if is_remote(path) or os.pardir in path:
        return path
    try:
        below = os.path.relpath(path)
    except (OSError, ValueError):
        # Windows has it on another drive, or the working directory is gone.
        return path
    return path if below.startswith(os.pardir) else below


def absolute(path: str) -> str:
    """It wherever the program goes; `..` behind a link stays what it is."""
    if is_remote(path) or (os.pardir in path and os.path.isabs(path)):
        return path
    return os.path.join(os.getcwd(), path) if os.pardir in path else os.path.abspath(path)


def names_in(folder: AnyPath) -> list[str]:
    """What lies in a folder; nothing where there is none."""
    if not folder.is_dir():
        return []
    return folder.names() if isinstance(folder, RemotePath) else os.listdir(folder)


def beginning(path: AnyPath, most: int) -> bytes:
    """What a file begins with: so many bytes, or all there are."""
    if isinstance(path, RemotePath):
        return path.read_bytes(most)
    with path.open("rb") as file:
        return file.read(most)


def bytes_from(path: AnyPath, begin: int) -> bytes:
    """What is in a file from a place on."""
    if isinstance(path, RemotePath):
        try:
            return path.read_from(begin)
        except OSError:
            # It has become shorter, and some file systems raise where it ended before.
            return path.read_bytes()[begin:]
    with path.open("rb") as file:
        file.seek(begin)
        return file.read()


def size_and_time(path: AnyPath) -> tuple[int, float]:
    """Bytes of a file, and when it was written to, in seconds since 1970."""
    if isinstance(path, RemotePath):
        return path.size_and_time()
    known = path.stat()
    return known.st_size, known.st_mtime


def folders_below(
    root: AnyPath, refused: Callable[[OSError], object]
) -> Iterator[tuple[AnyPath, list[str]]]:
    """The folder itself and all below it, each with the names of its files.

    Links to folders elsewhere are followed, once each: TensorBoard advises trees of them.

    Arguments:
        root: the folder.
        refused: gets the error of each that cannot be listed; of a remote one the first ends it.
            One that has gone meanwhile, as that of a capture does, holds nothing.
    """
    if isinstance(root, RemotePath):
        try:
            yield from root.walk()
        except OSError as error:
            refused(error)
        return

    def unless_gone(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            refused(error)

    top, walked = Path(os.path.realpath(root)), set[Path]()
    for folder, below, names in os.walk(root, onerror=unless_gone, followlinks=True):
        # What is there itself counts before links to it.
        below.sort(key=lambda name: Path(folder, name).is_symlink())
        below[:] = [name for name in below if _leads_on(Path(folder, name), top, walked)]
        yield Path(folder), names


def _leads_on(folder: Path, top: Path, walked: set[Path]) -> bool:
    """It was not walked yet, and is no link to what is walked anyway or to what holds it."""
    place = Path(os.path.realpath(folder))
    inside = place.is_relative_to(top) or top.is_relative_to(place)
    if place in walked or (inside and folder.is_symlink()):
        return False
    walked.add(place)
    return True
