"""The command line, and the demo that is the package's main job."""

import io
import re
import sys

import programs
import pytest
import tensorflow as tf
from rich.console import Console

import keras_perf as kp
from keras_perf.advise.gains.refilling import noticeable_refills, shortening
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import RULES
from keras_perf.cli import demo, digits
from keras_perf.cli.main import main
from keras_perf.cli.output import readable_output
from keras_perf.read.event_files import events, run_files
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.report.summary_picture import ALONE, SIZE


@pytest.fixture
def run(tmp_path):
    def train(name, *callbacks):
        programs.model().fit(
            programs.dataset(60),
            epochs=2,
            verbose=0,
            shuffle=False,
            callbacks=[*callbacks, *kp.perf_callbacks(tmp_path / name, profiler=False)],
        )
        return str(tmp_path / name)

    return train


@pytest.mark.timing
def test_report_prints_the_diagnosis(run, capsys):
    log_dir = run("slow", programs.Outlasts(4))
    assert main(["report", log_dir]) == 0
    text = capsys.readouterr().out
    assert text.startswith("callback-bound: ")
    assert "class Outlasts(keras.callbacks.Callback):" in text
    assert main(["report", log_dir, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("## callback-bound")


@pytest.mark.timing
def test_compare_prints_the_speed_up(run, capsys):
    slow, quick = run("slow", programs.Outlasts(6)), run("quick")
    assert main(["compare", slow, quick]) == 0
    assert float(re.findall(r"a step ([\d.]+)×", capsys.readouterr().out)[0]) > 2
    assert main(["compare", quick, slow, "--markdown"]) == 0


def test_a_directory_without_a_run_is_one_line_and_exit_code_2(tmp_path, capsys):
    for where in (tmp_path, tmp_path / "none"):
        assert main(["report", str(where)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert str(where) in error


@pytest.mark.parametrize("wrong", [[], ["report"], ["compare", "a"], ["no-such-command"]])
def test_wrong_use_is_exit_code_2(wrong, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(wrong)
    assert exit_.value.code == 2


@pytest.mark.timing
def test_the_run_holds_layout_diagnosis_and_context(run):
    log_dir = run("one", programs.Outlasts(4))
    [files] = run_files(log_dir).values()
    values = [value for event in events(files[0]) for value in event.summary.value]
    tags = {value.tag: value for value in values}
    layout = tags["custom_scalars__config__"].tensor.string_val[0]
    assert b"compute" in layout
    assert (b"input_wait" in layout) is hasattr(tf.data.experimental, "get_model_proto")
    assert b"callback-bound" in tags["perf/diagnosis"].tensor.string_val[0]
    assert tags["perf/diagnosis"].metadata.plugin_data.plugin_name == "text"
    picture = tags[ALONE].image
    assert (picture.width, picture.height) == SIZE
    assert picture.encoded_image_string.startswith(b"\x89PNG")
    assert b'"cpu_count"' in tags["perf/context"].tensor.string_val[0]


def test_the_digits_are_those_of_their_source(tmp_path):
    paths = digits.write_images(tmp_path)
    assert len(paths) == 1797
    image, label = next(iter(tf.data.Dataset.from_tensors(paths[0]).map(digits.decode)))
    assert image.shape == (digits.IMAGE_SIZE, digits.IMAGE_SIZE, 1)
    assert 0.9 < float(image.numpy().max()) <= 1
    assert int(label) == 0


@pytest.mark.whole
@programs.needs_gap_times
@pytest.mark.timing
def test_the_demo_finds_changes_and_shows(tmp_path, monkeypatch):
    # More epochs and longer trials would show the same more exactly.
    monkeypatch.setattr(demo, "EPOCHS", 5)
    monkeypatch.setattr(demo, "TRYING_S", 5.0)
    console = Console(record=True, width=100)
    comparison = demo.run(tmp_path, console)
    text = console.export_text()
    assert comparison.before.verdict in ("input-bound", "callback-bound")
    found = {advice.id for advice in comparison.before.recommendations}
    assert {"parallel-map", "cache", "prefetch", "amortize-callback"} & found
    assert comparison.speedup > 1.3
    assert_ends(comparison)
    assert "with trials" in text
    # Its callback only looks, so what a call of the train function costs is tried.
    assert WhyNoSteps.MAY_STEER.value.partition("}")[2] not in f"{text}{comparison.after}"
    trials = comparison.before.summary.facts.advice_trials
    # A slow machine has no time left to try anything, and says so.
    assert trials.changes or trials.not_tried
    assert_names_refills(comparison.before)
    accuracies = [float(a) for a in re.findall(r"([\d.]+)%", text.split("test accuracy")[1])][:2]
    assert abs(accuracies[0] - accuracies[1]) < 3
    assert f"tensorboard --logdir {tmp_path}" in text
    assert (tmp_path / "before/perf/plugins/profile").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {"before", "after"}


def assert_ends(comparison):
    """What the demo has followed is not advised to the letter again, nor still recommended."""
    followed = [each for each in comparison.advice if each.advice.id in demo_follows()]
    again = {(advice.id, advice.action) for advice in comparison.after.recommendations}
    assert followed
    assert not again & {(each.advice.id, each.advice.action) for each in followed}
    assert "still recommended" not in map(str, followed)


def demo_follows():
    """Ids of the advice that changes one of the demo's choices."""
    evidence = {"advised": 7}
    return {
        rule.id
        for rule in RULES
        if digits.Choices.following([Recommendation(rule.id, "", "", "", 2.0, 1.0, 3.0, evidence)])
        != digits.Choices()
    }


def assert_names_refills(found):
    """Where refilling the shuffle's buffer took a noticeable time, an advice says how long."""
    if noticeable_refills(found.summary) is not None:
        named = [each for each in found.recommendations if "shuffle" in each.reason]
        assert named or "for a shuffle to fill" in str(found.notes)
        if {each.id for each in found.recommendations} & shortening(found.summary.facts):
            assert named


def test_the_demo_s_log_has_a_line_every_so_many_calls_however_many_steps_each_has(tmp_path):
    log = tmp_path / "weights.csv"
    written = digits.WeightLog(log, every=20)
    written.set_model(programs.model())
    for call in range(60):
        written.on_train_batch_end(8 * call + 7, {"loss": 1.0})
    ends = [line.partition(",")[0] for line in log.read_text().splitlines()]
    assert ends == ["159", "319", "479"]


def test_what_the_demo_prints_is_shown_as_it_is_in_plain_characters(tmp_path, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(demo, "train", lambda *_: 0.5)
    with readable_output():
        console = Console()
        demo._say(console, "2.00× (1.9–2.1) [red]…[/]")
        demo._train("as a beginner does", [], digits.Choices(), tmp_path, tmp_path, console)
    told = stream.buffer.getvalue().decode("ascii")
    assert "2.00x (1.9-2.1) [red]...[/]" in told
    assert "Training as a beginner does" in told


def test_the_demo_follows_the_numbers_that_are_recommended():
    advice = {"amortize-callback": {"advised": 20}, "raise-steps-per-execution": {"advised": 8}}
    found = [Recommendation(id, "", "", "", 2.0, 1.0, 3.0, told) for id, told in advice.items()]
    choices = digits.Choices.following(found)
    assert (choices.log_every, choices.steps_per_execution) == (20, 8)
    assert digits.Choices.following([]) == digits.Choices()
