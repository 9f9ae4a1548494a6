"""Paths behind URLs, on fsspec's file system in memory: TensorFlow is not needed for it."""

from __future__ import annotations

import errno
import itertools
import sys
from types import ModuleType, SimpleNamespace

import fsspec
import pytest
import tensorboard.compat
from fsspec.implementations.memory import MemoryFileSystem
from tensorboard.compat import tensorflow_stub
from tensorboard.compat.tensorflow_stub.io import gfile

from keras_perf.files import file_systems, remote_path
from keras_perf.files.any_path import any_path, beginning, bytes_from, folders_below
from keras_perf.files.remote_path import RemotePath
from keras_perf.write.writable_log_dir import writable_log_dir

numbers = itertools.count()


@pytest.fixture(autouse=True)
def without_tensorflow(monkeypatch):
    monkeypatch.setattr(tensorboard.compat, "tf", tensorflow_stub)


@pytest.fixture
def root():
    return RemotePath.of(f"memory://paths/{next(numbers)}")


def test_a_url_keeps_its_slashes(tmp_path):
    path = any_path("gs://bucket/logs/run1/")
    assert str(path) == "gs://bucket/logs/run1"
    assert str(path / "perf") == "gs://bucket/logs/run1/perf"
    assert (path.name, str(path.parent)) == ("run1", "gs://bucket/logs")
    assert (path / "perf" / "worker_1").relative_to(path).as_posix() == "perf/worker_1"
    assert any_path(str(tmp_path)) == tmp_path
    assert any_path(tmp_path) == tmp_path


def test_what_is_written_is_read_back(root):
    (root / "a").write_bytes(b"first")
    (root / "a").write_bytes(b"second")
    assert (root / "a").read_bytes() == b"second"
    assert beginning(root / "a", 3) == b"sec"
    assert (root / "a").is_file()
    assert root.is_dir()
    assert not (root / "b").exists()


def test_of_a_file_that_has_grown_only_what_is_new_is_fetched(root, monkeypatch):
    (root / "a").write_bytes(b"known and new")
    fetched = []
    read = gfile.FSSpecFileSystem.read

    def counted(*given):
        content, token = read(*given)
        fetched.append(content)
        return content, token

    monkeypatch.setattr(gfile.FSSpecFileSystem, "read", counted)
    assert bytes_from(root / "a", 6) == b"and new"
    assert fetched == [b"and new"]
    assert bytes_from(root / "a", 13) == bytes_from(root / "a", 100) == b""
    assert bytes_from(root / "a", 0) == b"known and new"


class KeepsListings(MemoryFileSystem):
    """As those of object stores do."""

    protocol = "keeps"

    def ls(self, path, detail=True, **how):
        path = self._strip_protocol(path)
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True, **how)
        found = self.dircache[path]
        return found if detail else [each["name"] for each in found]

    def invalidate_cache(self, path=None):
        self.dircache.clear()


def test_what_is_written_after_a_folder_was_listed_is_seen():
    fsspec.register_implementation("keeps", KeepsListings, clobber=True)
    root = RemotePath.of(f"keeps://listed/{next(numbers)}")
    (root / "a").write_bytes(b"")
    assert list(root.walk()) == [(root, ["a"])]
    (root / "b").write_bytes(b"")
    assert gfile.listdir(str(root)) == ["a"]
    assert list(root.walk()) == [(root, ["a", "b"])]


def test_tensorflow_s_files_are_read_from_a_place_on(monkeypatch):
    files = pytest.importorskip("tensorflow").io.gfile
    monkeypatch.setattr(remote_path, "file_system_of", lambda _: files)
    path = RemotePath.of("ram://grown/a")
    path.write_bytes(b"known and new")
    assert bytes_from(path, 6) == b"and new"
    assert bytes_from(path, 13) == bytes_from(path, 100) == b""


def test_every_folder_is_walked(root):
    for name in ("perf/events.out.1", "perf/worker_1/events.out.2", "perf/plugins/profile/1/vm"):
        (root / name).write_bytes(b"x")
    found = {str(folder.relative_to(root)): names for folder, names in folders_below(root, print)}
    assert found == {
        ".": [],
        "perf": ["events.out.1"],
        "perf/worker_1": ["events.out.2"],
        "perf/plugins": [],
        "perf/plugins/profile": [],
        "perf/plugins/profile/1": ["vm"],
    }


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (gfile.errors.NotFoundError(None, None, "gone"), FileNotFoundError),
        (gfile.errors.PermissionDeniedError(None, None, "no"), PermissionError),
        (PermissionError("no access to the bucket"), PermissionError),
        (ConnectionResetError(errno.ECONNRESET, "reset"), ConnectionResetError),
        (RuntimeError("first line\nsecond line"), OSError),
        (RuntimeError(), OSError),
    ],
)
def test_whatever_fails_there_is_an_os_error_with_the_url(raised, expected, root, monkeypatch):
    def refuse(*_):
        raise raised

    monkeypatch.setattr(gfile, "exists", refuse)
    with pytest.raises(OSError) as caught:
        root.exists()
    assert type(caught.value) is expected
    assert caught.value.filename == str(root)
    assert caught.value.strerror
    assert "\n" not in caught.value.strerror
    assert caught.value.errno


@pytest.mark.parametrize("scheme", ["nowhere", "dropbox"])
def test_a_scheme_that_nothing_opens_is_refused_with_the_remedy(scheme):
    with pytest.raises(OSError, match=rf"nothing that is installed opens {scheme}://.*install"):
        file_systems.file_system_of(scheme)


def test_a_log_directory_behind_a_url_is_made(root):
    assert writable_log_dir(root) == str(root)
    assert (root / "perf").is_dir()


@pytest.mark.fault(2, "a remote `log_dir` without permission")
def test_a_log_directory_that_cannot_be_written_is_refused(root, monkeypatch):
    def refuse(*_):
        raise gfile.errors.PermissionDeniedError(None, None, "no access to the bucket")

    monkeypatch.setattr(gfile, "makedirs", refuse)
    with pytest.raises(PermissionError, match=r"must be writable, got 'memory://.*no access to"):
        writable_log_dir(str(root / "refused"))


@pytest.mark.parametrize("url", ["nowhere://bucket/logs", "dropbox://logs"])
def test_a_log_directory_that_nothing_opens_is_refused(url):
    with pytest.raises(OSError, match=r"log_dir must be writable, got .*nothing that is installed"):
        writable_log_dir(url)


def test_a_url_without_a_name_is_refused():
    with pytest.raises(ValueError, match="log_dir must name a directory behind its ://"):
        writable_log_dir("gs://")


def test_where_tensorflow_is_imported_its_file_systems_come_first(monkeypatch):
    tensorflow = ModuleType("tensorflow")
    tensorflow.io = SimpleNamespace(
        gfile=SimpleNamespace(get_registered_schemes=lambda: ["memory", "ram"])
    )
    monkeypatch.setattr(tensorboard.compat, "tf", tensorflow)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert file_systems.file_system_of("memory") is gfile
    assert file_systems.file_system_of("ram") is tensorflow.io.gfile
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    assert file_systems.file_system_of("memory") is tensorflow.io.gfile
    assert file_systems.file_system_of("file") is gfile
