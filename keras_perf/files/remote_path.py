"""A URL with as much of `pathlib.Path` as logs and traces need."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from keras_perf.files.file_systems import file_system_of, forget_listings, os_errors

LESS_A_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")


class NoPathError(ValueError):
    """What was given names nothing."""


def is_remote(path: str) -> bool:
    """Whether it is a URL; a local path may begin with `file://`, too."""
    return "://" in path


def require_whole(path: str) -> str:
    """`path`, unless it is a URL that has lost a slash, or nothing.

    Raises:
        NoPathError: it is; as a local path it would lead to a folder `gs:` here.
    """
    if not path:
        raise NoPathError("a path must name a file or a directory, got ''. '.' is this directory.")
    if LESS_A_SLASH.match(path):
        raise NoPathError(
            f"a URL must be given as a str, got {path!r}: a pathlib.Path makes one slash of its "
            "two. Give 'gs://bucket/run', say."
        )
    return path


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or a folder behind a URL; what fails raises OSError, as with a local one.

    Attributes:
        scheme: what stands before `://`.
        path: what follows: the bucket first, or a `/`.
    """

    scheme: str
    path: PurePosixPath

    @classmethod
    def of(cls, url: str) -> RemotePath:
        """The path of a URL, whose `//` a `pathlib.Path` would swallow."""
        scheme, _, path = url.partition("://")
        return cls(scheme, PurePosixPath(path))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path}"

    def __fspath__(self) -> str:
        return str(self)

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.scheme, self.path / name)

    @property
    def name(self) -> str:
        """The last part of it."""
        return self.path.name

    @property
    def parent(self) -> RemotePath:
        """All but that."""
        return RemotePath(self.scheme, self.path.parent)

    def relative_to(self, other: os.PathLike[str]) -> PurePosixPath:
        """Its path below another one."""
        return self.path.relative_to(RemotePath.of(os.fspath(other)).path)

    def resolve(self) -> RemotePath:
        """Itself: no URL is relative to another."""
        return self

    def exists(self) -> bool:
        """Whether it is there."""
        with os_errors(str(self)):
            return bool(self._files.exists(str(self)))

    def is_dir(self) -> bool:
        """Whether it is a folder; an object store has those that something lies in."""
        with os_errors(str(self)):
            return bool(self._files.isdir(str(self)))

    def is_file(self) -> bool:
        """Whether it is there and no folder."""
        return self.exists() and not self.is_dir()

    def size_and_time(self) -> tuple[int, float]:
        """Bytes, and when it was written to, in seconds since 1970; 0 where nobody tells."""
        with os_errors(str(self)):
            known = self._files.stat(str(self))
        return known.length, getattr(known, "mtime_nsec", 0) / 1e9

    def names(self) -> list[str]:
        """What lies in it, sorted."""
        with os_errors(str(self)):
            # Object stores end a folder's name with a slash, and may name the folder itself.
            found = {name.rstrip("/") for name in self._files.listdir(str(self))}
        return sorted(posixpath.basename(name) for name in found if name)

    def make_folder(self) -> None:
        """Makes it, and those above it; an object store is asked whether it may be written."""
        with os_errors(str(self)):
            self._files.makedirs(str(self))

    def read_bytes(self, most: int | None = None) -> bytes:
        """What is in the file, or what it begins with."""
        with os_errors(str(self)), self._files.GFile(str(self), "rb") as file:
            content: bytes = file.read() if most is None else file.read(most)
        return content

    def read_from(self, begin: int) -> bytes:
        """What is in the file from a place on; what lies before it is not fetched."""
        with os_errors(str(self)), self._files.GFile(str(self), "rb") as file:
            if hasattr(file, "seek"):
                file.seek(begin)
            else:
                # TensorBoard's own goes on where such a token says: S3's and fsspec's.
                file.continuation_token = {"byte_offset": begin, "opaque_offset": begin}
            content: bytes = file.read()
        return content

    def write_bytes(self, content: bytes) -> None:
        """Writes the file, whole."""
        with os_errors(str(self)), self._files.GFile(str(self), "wb") as file:
            file.write(content)

    def walk(self) -> Iterator[tuple[RemotePath, list[str]]]:
        """Each folder from here on downwards, with the names of its files, as they are now.

        Raises:
            OSError: a folder cannot be listed.
        """
        with os_errors(str(self)):
            forget_listings(self._files, str(self))
        yield from self._walk()

    def _walk(self) -> Iterator[tuple[RemotePath, list[str]]]:
        folders: list[str] = []
        files: list[str] = []
        for name in self.names():
            # A question for each name is a request each, and event files are known by theirs.
            is_folder = not name.startswith("events.out.") and (self / name).is_dir()
            (folders if is_folder else files).append(name)
        yield self, files
        for name in folders:
            yield from (self / name)._walk()

    @property
    def _files(self) -> Any:
        return file_system_of(self.scheme)
