"""Whether files that are not on a local disk set the pace of a training."""

from __future__ import annotations

from keras_perf.advise.as_written import WORK, runs_as, written_as
from keras_perf.advise.situation import Situation
from keras_perf.records.run.input.pipeline import RECORD_READERS, WrittenStage

READERS = (*RECORD_READERS, "CSV")
"""Stages that do nothing but read."""

MOUNTS = (
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "virtiofs",
)
"""Types of mounts whose files come over a network, or from the host of a virtual machine."""

LOCAL = (
    "ram://",
    "fuse.bindfs",
    "fuse.cryfs",
    "fuse.encfs",
    "fuse.exfat",
    "fuse.fuse-ext2",
    "fuse.fuse-overlayfs",
    "fuse.fuse2fs",
    "fuse.gocryptfs",
    "fuse.lxcfs",
    "fuse.mergerfs",
    "fuse.ntfs",
    "fuse.ntfs-3g",
    "fuse.ratarmount",
    "fuse.shfs",
    "fuse.snapfuse",
    "fuse.squashfuse",
    "fuse.squashfuse_ll",
    "fuse.unionfs",
)
"""What lies on a disk of the machine, or in its memory."""

COMPUTES = 0.5
"""An input that computes for more than this share of the time that a batch takes does not only
wait for files."""


def is_remote(system: str) -> bool:
    """A file system as it is recorded, `gs://` or the type of a mount, is not a local disk's."""
    fuse = system == "fuse" or system.startswith("fuse.")
    return system not in LOCAL and (system.endswith("://") or system in MOUNTS or fuse)


def remote_systems(situation: Situation) -> tuple[str, ...]:
    """Where the files are, if not on a local disk."""
    written = situation.facts.input.dataset
    return tuple(filter(is_remote, written.file_systems)) if written is not None else ()


def reading_stage(situation: Situation) -> str | None:
    """The stage that sets the pace, if it reads files and waits for them; None elsewhere.

    What it cannot see: which part of a function of the user's reads. Where such a function does
    it, CPU sampling must have told that the process was nearly idle; nowhere may it have told
    that it computed.
    """
    model = situation.model
    beside_ms = model.cpu_ms - model.rest.get("compute", 0.0)
    if beside_ms > COMPUTES * model.produce_ms:
        return None
    slowest = max(model.stages, key=lambda name: model.stages[name], default=None)
    if slowest is None or not model.stages[slowest]:
        return None
    if slowest.startswith(READERS) or _is_a_readers_own(slowest, situation):
        return slowest
    written = written_as(slowest, situation.facts)
    if written is None:
        alike = [stage for stage in _called(situation) if runs_as(stage.kind, slowest)]
        written = alike[0] if len(alike) == 1 else None
    reads = written is not None and written.reads_files
    return slowest if reads and model.cpu_ms else None


def _is_a_readers_own(name: str, situation: Situation) -> bool:
    """A `TFRecordDataset` of several files goes through them in such a stage of its own."""
    through_files = "FlatMap" in name or "Interleave" in name
    of_the_user = any(runs_as(stage.kind, name) for stage in _called(situation))
    reads = any(stage.is_reader for stage in situation.facts.input.written)
    return through_files and not of_the_user and reads


def _called(situation: Situation) -> list[WrittenStage]:
    """Stages that call functions of the user's."""
    return [stage for stage in situation.facts.input.written if stage.kind in WORK]
