"""The directories that TensorBoard was started on."""

from __future__ import annotations

import os
import re
from typing import Any

_ADDRESS = re.compile(r"[a-zA-Z][0-9a-zA-Z.]*://")


def log_dirs(logdir: str | None, flags: Any) -> dict[str, str]:
    """Name → directory; the name of the only one is empty.

    Arguments:
        logdir: of TensorBoard's context; empty where `--logdir_spec` was given.
        flags: TensorBoard's. `--logdir_spec` is `name:path,path,…`, where a name has no slash in
            front and a path may be an address such as `gs://…`.
    """
    if logdir:
        return {"": os.path.expanduser(logdir)}
    spec = getattr(flags, "logdir_spec", "") or ""
    found = {}
    for each in filter(None, spec.split(",")):
        name, colon, path = each.partition(":")
        if not colon or each.startswith("/") or _ADDRESS.match(each):
            name = path = each
        # TensorBoard takes several directories with one name.
        if path:
            found[path if name in found else name] = os.path.expanduser(path)
    return found
