"""The diagnosis of what people complain about, and of twins without it."""

import json
from pathlib import Path
from statistics import mean

import bottlenecks
import complaints
import complaints_of_epochs
import keras
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.cli.main import main

FOUND, NO_MORE = 0.7, 1.5
"""Of what the program itself has measured so much must be found, and no more."""

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(
        not hasattr(tf.data.experimental, "get_model_proto"),
        reason="this TensorFlow does not tell tf.data's gap times",
    ),
    pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning"),
]


def diagnosed(complaint, log_dir, *, healthy):
    bottlenecks.steps_are_measured_anew()
    bottlenecks.MEASURED.clear()
    profiler = {"active_steps": 8} if complaint.traced else False
    callbacks = kp.perf_callbacks(
        log_dir, profiler=profiler, gpu={"interval_s": 0.01}, steps_per_execution=False
    )
    with pytest.MonkeyPatch.context() as patched:
        for name, value in complaint.patches.items():
            patched.setattr(name, value)
        complaint.train(callbacks, healthy=healthy)
        return kp.diagnose(log_dir)


COMPLAINTS = pytest.mark.parametrize(
    "complaint",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.long] if each.long else [])
        for each in complaints_of_epochs.COMPLAINTS
    ],
)


@pytest.mark.whole
@COMPLAINTS
def test_the_complaint_is_answered(complaint, tmp_path):
    found = diagnosed(complaint, tmp_path, healthy=False)
    told, advised = str(found), [advice.id for advice in found.recommendations]
    assert found.verdict in (complaint.verdicts or (found.verdict,)), told
    if not complaint.needs_cores or bottlenecks.has_spare_cores(found):
        assert complaint.says in told
        assert complaint.advice is None or complaint.advice in advised, told
    if complaint.size is not None:
        size = mean(bottlenecks.MEASURED)
        assert FOUND * size <= complaint.size(found) <= NO_MORE * size, f"{size}\n{told}"
    if complaint.gain is not None:
        least, most = complaint.gain()
        [gain] = [a.predicted_speedup for a in found.recommendations if a.id == complaint.advice]
        told = f"{least}–{most}\n{told}"
        assert 1 + FOUND * (least - 1) <= gain <= 1 + NO_MORE * (most - 1), told


@pytest.mark.whole
@COMPLAINTS
def test_of_its_twin_nothing_of_the_kind_is_said_and_the_verdict_is_right(complaint, tmp_path):
    found = diagnosed(complaint, tmp_path, healthy=True)
    told, advised = str(found), [advice.id for advice in found.recommendations]
    assert complaint.kind not in told, told
    assert found.verdict in complaint.twin, told
    assert not {complaint.advice, *complaint.never}.intersection(advised), told


@pytest.mark.whole
@pytest.mark.skipif(
    tuple(map(int, keras.__version__.split(".")[:2])) < (3, 10),
    reason="this Keras counts the examples of several replicas wrong",
)
def test_few_examples_for_each_replica_are_named_and_enough_are_not(processes, tmp_path):
    code, told = processes.script(Path(__file__).with_name("replicas.py"), tmp_path)
    assert code == 0, told
    notes = json.loads(told.splitlines()[-1])
    words = "2 replicas share each batch of 16 examples, 8 each"
    assert any(note.startswith(words) for note in notes["complaint"]), notes
    assert not any("replicas share" in note for note in notes["twin"]), notes


def test_a_training_that_somebody_made_slower_fails_in_ci_and_the_other_way_round_it_does_not(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("keras_perf.observation.warmup_and_intervals.INTERVAL_S", 0.002)
    bottlenecks.steps_are_measured_anew()
    for name, hooks in (("before", []), ("after", [bottlenecks.Hook(complaints.long_ms())])):
        gaps = kp.StepGapDetector(tmp_path / name, summary=False)
        data = bottlenecks.batches(240)
        bottlenecks.mlp().fit(data, verbose=0, shuffle=False, callbacks=[gaps, *hooks])
    runs = [str(tmp_path / name) for name in ("before", "after")]
    fails = ["--fail-if-slower", "5%"]
    assert main(["compare", *runs, *fails]) == 1
    assert "slower by more than 5%" in capsys.readouterr().err
    assert main(["compare", *reversed(runs), *fails]) == 0
    assert "not slower by more than 5%" in capsys.readouterr().err
