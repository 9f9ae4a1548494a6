"""On which file systems the files of a dataset lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

MOUNTS = Path("/proc/self/mounts")
"""Linux's; elsewhere the types of mounts are not known."""

WEB = ("http", "https", "ftp")
"""Schemes of links in texts; TensorFlow reads no files from there unless a package adds it."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def file_systems(nodes: list[Any]) -> tuple[str, ...]:
    """Of what these nodes of a dataset read: `gs://`, or the type of a mount such as `nfs4`.

    File names are looked for where a dataset holds texts: in what it is made of and in constants
    of its functions; the first and the last of each. That takes private attributes of tf.data's
    (`_tensors`, `_filenames`, `_path`); without them no file system is known, and nothing is said
    of remote ones.

    What it cannot see: names that Python code or an operation makes.
    """
    names = [name for node in nodes for name in _names(node)]
    types = _mount_types()
    found = {_system(name, types) for name in dict.fromkeys(names)}
    return tuple(sorted(system for system in found if system is not None))


def _names(node: Any) -> Iterator[str]:
    inner = getattr(node, "_filenames", None)
    tensors = [*getattr(node, "_tensors", ())]
    if isinstance(inner, tf.data.Dataset):
        tensors += getattr(inner, "_tensors", ())
    elif inner is not None:
        tensors.append(inner)
    if isinstance(path := getattr(node, "_path", None), str):
        yield path
    for wrapper in node._functions():
        tensors += wrapper.function.captured_inputs
        for operation in wrapper.function.graph.get_operations():
            if operation.type == "Const" and operation.outputs[0].dtype == tf.string:
                values = operation.get_attr("value").string_val
                yield from (value.decode(errors="replace") for value in [*values[:1], *values[-1:]])
    for tensor in tensors:
        yield from _ends(tensor)


def _ends(tensor: Any) -> Iterator[str]:
    """The first and the last text of a tensor of texts."""
    if getattr(tensor, "dtype", None) != tf.string or not hasattr(tensor, "numpy"):
        return
    with tf.device("CPU:0"):
        # Not all of them: there may be a million.
        flat = tf.reshape(tensor, [-1])
        ends = [*flat[:1].numpy(), *flat[-1:].numpy()]
    yield from (name.decode(errors="replace") for name in ends)


def _system(name: str, types: dict[str, str]) -> str | None:
    """None of a text that is no file's name, or where nobody tells."""
    found = _SCHEME.match(name)
    scheme = found[1].lower() if found is not None else "file"
    if scheme != "file":
        is_link = scheme in WEB and scheme not in tf.io.gfile.get_registered_schemes()
        return None if is_link else f"{scheme}://"
    path = name[found.end() :] if found is not None else name
    if not _names_a_file(path):
        return None
    real = Path(os.path.realpath(path))
    return next((types[str(each)] for each in (real, *real.parents) if str(each) in types), None)


def _names_a_file(path: str) -> bool:
    """A file, or a folder that a path is made with; no "/" to split at, and no class "cat"."""
    is_part_of_a_path = os.sep in path and path.strip("./") != ""
    return os.path.isfile(path) or (is_part_of_a_path and os.path.isdir(path))


def _mount_types() -> dict[str, str]:
    """Where something is mounted → its type."""
    try:
        lines = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    # The kernel writes blanks in a path as \040.
    rows = [line.split(" ") for line in lines]
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) > 2}
