"""The tab's answers have the form that the schemas say, whatever a run holds."""

import re
from pathlib import Path

import jsonschema
import pytest
from answers import SCHEMAS, parts_of, schema, text_of
from hand_built import stage, write_fit

import keras_perf.tab
from keras_perf.records.run.tried.batch_sizes import BatchSize, BatchSizes
from keras_perf.records.run.tried.learning_rates import LearningRates
from keras_perf.records.run_names import worker_run
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.write.run_writer import RunWriter

CHANGE = {"gain": 3.0, "low": 2.9, "high": 3.1, "before_ms": 9.0, "after_ms": 3.0}
CONTEXT = {
    "first_step": 0,
    "cpu_count": 8,
    "examples_per_step": 32.0,
    "versions": {"tensorflow": "2.21.0"},
    "gpus": {"gpu/0": "H200 GPU-1"},
    "stages": [
        stage("TensorSlice", 0.1, inputs=0),
        stage("Map", 8.0, inputs=1),
        stage("TensorSlice", 0.1, inputs=0),
        stage("Zip", 0.1, inputs=2),
        stage("BatchV2", 0.2, inputs=1),
    ],
    "advice_trials": {"step_ms": 9.0, "changes": [{"id": "cache", **CHANGE}]},
    "steps_per_execution_trial": {
        "recommended": 8,
        "predicted_speedup": 1.4,
        "low": 1.2,
        "high": 1.6,
        "applied": False,
        "reason": "a step costs 2 ms inside the graph, an execution 2 ms more.",
        "evidence": {"steps_per_execution": 1, "trials": {"1": 4.0, "8": 2.2}},
    },
    "ending": {"how": "raised", "error": "ValueError", "message": "bad <record>"},
}
SENSORS = {"host/cpu_pct": 50.0, "gpu/0/utilization_pct": 80.0, "gpu/0/min_utilization_pct": 1.0}
EXCHANGE = {"perf/communication_ms": 1.0, "perf/peer_wait_ms": 0.5, "perf/slowest_worker": 1.0}


def write(folder, run="perf", context=CONTEXT, values=SENSORS):
    writer = RunWriter(str(folder), run)
    for step in range(10, 110, 10):
        measured = {"perf/step_time_ms": 4.0, "perf/input_wait_ms": 3.0, "perf/compute_ms": 1.0}
        measured |= {"perf/interval_steps": 10.0, "perf_callbacks/Mine_ms": 0.5}
        writer.scalars(step, measured | values, wall_time=float(step))
    writer.context(100, context)
    writer.close()


def everything(folder):
    write(folder)


def workers(folder):
    for number in range(2):
        context = CONTEXT | {"workers": 2, "worker": number}
        write(folder, worker_run(number), context, SENSORS | EXCHANGE)


def what_was_tried(folder):
    sizes = (32, 64, 900)
    tried = [BatchSize(batch_size=n, step_ms=n / 10, examples_per_sec=1e4) for n in sizes]
    kept = {
        "batch_sizes": BatchSizes(tried=tuple(tried), present=32, recommended=64),
        "learning_rates": LearningRates(
            learning_rates=(1e-4, 1e-3, 1e-2), smoothed_losses=(1.0, 0.9, 0.3), suggestion=3e-3
        ),
    }
    write(folder)
    KeptInRun(folder).keep(kept)


def no_steps(folder):
    writer = RunWriter(str(folder))
    writer.context(0, {"versions": {"keras": "3.15.1"}, "epochs": 1})
    writer.close()


def hostile(folder):
    callback = {"perf_callbacks/<img src=x onerror=alert(1)>_ms": 1.0}
    write(folder, values={"perf/callbacks_ms": 1.0, **callback})


@pytest.mark.parametrize("kind", [everything, workers, what_was_tried, no_steps, hostile])
def test_every_answer_about_every_run_has_its_form(tab, tmp_path, kind):
    kind(tmp_path / "run")
    write_fit(tmp_path / "before", step_ms=9.0)
    ask = tab(tmp_path)
    names = [each["name"] for each in ask("/runs").json["runs"]]
    assert sorted(names) == ["before", "run"]
    for route, asked in {"/page": ["before", "run"], "/steps": "run", "/lanes": "run"}.items():
        assert ask(route, run=asked).status_code == 200
    assert "before" in text_of(ask("/table").json["content"])
    assert "run" in text_of(ask("/page", run="run").json["content"])


def test_a_run_that_holds_everything_has_a_card_for_it(tab, tmp_path):
    what_was_tried(tmp_path / "run")
    content = tab(tmp_path)("/page", run="run").json["content"]
    titles = [text_of(each).strip() for each in parts_of(content) if each[0] == "h3"]
    assert {"Batch sizes, tried", "Learning rates, tried", "Input pipeline"} <= set(titles)


@pytest.mark.parametrize(
    "part",
    [
        ["script", {}, ["alert(1)"]],
        ["img", {"src": "x"}, []],
        ["b", {"onclick": "alert(1)"}, []],
        ["a", {"href": "javascript:alert(1)"}, []],
        ["a", {"href": "https://example.com"}, []],
        ["p", {"style": "background: url(x)"}, []],
        ["p", {}, [1]],
    ],
)
def test_what_could_run_or_load_something_is_not_of_that_form(part):
    with pytest.raises(jsonschema.ValidationError):
        SCHEMAS["/page"].validate({"content": ["main", {}, [part]]})


def test_the_browser_makes_what_the_schema_allows_and_nothing_else():
    text = (Path(keras_perf.tab.__file__).parent / "static" / "tree.js").read_text()
    lists = {name: set(words.split()) for name, words in LISTS.findall(text)}
    kinds = schema("content")["$defs"]
    [pattern, names] = kinds["attributes"]["propertyNames"]["anyOf"]
    assert lists["TAGS"] | lists["DRAWN"] == set(kinds["tag"]["enum"])
    assert lists["ATTRIBUTES"] == set(names["enum"])
    assert f"/{pattern['pattern']}/" in text


LISTS = re.compile(r'^const ([A-Z]+) = new Set\([`"]([^`"]+)[`"]', re.MULTILINE)
