"""Files that are not on a local disk: named where reading them sets the pace, and only there."""

from __future__ import annotations

from typing import Any

import pytest
from contradictions import contradictions
from hand_built import diagnosed, situation, stage, summary

from keras_perf.advise.notes.all_notes import notes_of
from keras_perf.advise.notes.input.remote_files import remote_file_notes
from keras_perf.advise.remote_files import is_remote
from keras_perf.report.diagnosis import diagnosis_of

TF_RECORDS = [{"kind": "tensor_slice"}, {"kind": "t_f_record"}, {"kind": "map"}, {"kind": "batch"}]
"""`TFRecordDataset(names).map(parse).batch(…)`, which reads in a FlatMap of its own."""

RUNNING = [stage("TensorSlice", 0.0), stage("FlatMap", 6.0), stage("Map", 1.5), stage("Batch", 0.5)]

OPENS = [{"kind": "tensor_slice"}, {"kind": "map", "reads_files": True}, {"kind": "batch"}]
"""`from_tensor_slices(names).map(open_and_decode)`."""

OPENING = [stage("TensorSlice", 0.0), stage("ParallelMap", 48.0, parallelism=8), stage("Batch", 1)]


def said(
    *systems: str,
    chain: Any = TF_RECORDS,
    stages: Any = RUNNING,
    verdict: str = "input-bound",
    advised: Any = (),
    epochs: int = 1,
    **changed: Any,
) -> list[str]:
    context = {"dataset": {"chains": [chain], "file_systems": list(systems)}, "epochs": epochs}
    found = situation(input_wait=8.0, compute=2.0, stages=stages, context=context, **changed)
    return list(remote_file_notes(diagnosed(found, verdict, advised)))


def test_files_of_a_bucket_that_training_waits_for_are_named_with_what_helps():
    assert said("gs://") == [
        "The files are not on a local disk (gs://), and reading them sets the pace: FlatMap (2) "
        "takes 6 ms of the 8 ms that a batch needs. What helps: several files at a time "
        "(interleave with num_parallel_calls); a copy of them on a local disk; fewer, "
        "larger files (100 MB and more). What each gains was not measured."
    ]


def test_a_stage_that_does_more_than_tf_data_counts_is_told_with_both_figures():
    unseen = [stage("TensorSlice", 0.0), stage("FlatMap", 0.5), stage("Map", 0.25)]
    context = {"dataset": {"chains": [TF_RECORDS], "file_systems": ["gs://"]}}
    found = summary(input_wait=8.0, compute=2.0, stages=unseen, context=context)
    [note] = [note for note in diagnosis_of(found).notes if "gs://" in note]
    assert "a batch took 8 ms, of which about" in note
    assert "went to FlatMap (2); tf.data counts 0.5 ms of its work" in note
    assert not list(contradictions(diagnosis_of(found)))


def test_what_is_done_or_advised_already_is_not_said_again():
    [note] = said("gs://", epochs=5, advised=["interleave", "cache"])
    assert "interleave" not in note
    assert "cache" not in note
    [note] = said("gs://", epochs=5)
    assert "cache(filename) on a local disk" in note
    [note] = said("gs://", epochs=5, chain=[*TF_RECORDS, {"kind": "cache"}])
    assert "cache(filename)" not in note


def test_a_map_that_opens_files_waits_for_them_where_the_process_is_idle():
    idle = {"chain": OPENS, "stages": OPENING, "process_cpu_pct": 40.0}
    [note] = said("nfs4", **idle)
    assert "(nfs4), and reading them sets the pace: ParallelMap (2) takes" in note
    assert "interleave" not in note


@pytest.mark.parametrize(
    "changed",
    [
        # What decodes computes; where nobody sampled the CPU that is not known.
        {"chain": OPENS, "stages": OPENING, "process_cpu_pct": 400.0},
        {"chain": OPENS, "stages": OPENING},
        # Reading computes: the files are in memory already.
        {"process_cpu_pct": 100.0},
        # Something else sets the pace.
        {"stages": [stage("FlatMap", 1.0), stage("Map", 7.0)]},
        # Nobody waits.
        {"verdict": "compute-bound"},
        {"stages": []},
    ],
)
def test_remote_files_that_do_not_set_the_pace_are_left_alone(changed):
    assert said("gs://", **changed) == []


@pytest.mark.parametrize(
    "system", ["ext4", "xfs", "overlay", "tmpfs", "ram://", "fuseblk", "fuse.mergerfs"]
)
def test_local_files_are_left_alone(system):
    assert said(system) == []
    assert said() == []


@pytest.mark.parametrize(
    "system", ["gs://", "s3://", "hdfs://", "nfs4", "cifs", "fuse.gcsfuse", "fuse.sshfs", "lustre"]
)
def test_what_comes_over_a_network_is_known(system):
    assert is_remote(system)


def test_the_note_stands_in_place_of_the_one_that_nothing_helps():
    context = {"dataset": {"chains": [TF_RECORDS], "file_systems": ["s3://"]}}
    found = situation(input_wait=8.0, compute=2.0, stages=RUNNING, context=context)
    notes = list(notes_of(diagnosed(found, "input-bound")))
    assert any("(s3://)" in note for note in notes)
    assert not any(note.startswith("No change to the pipeline") for note in notes)
