"""Whatever the names of a run, each form of its report keeps its shape."""

from __future__ import annotations

import json
import re

import pytest
from any_text import ANY_TEXT, TAG_TEXT
from hand_built import between_epochs, facts_of, frame, point, stage
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.analyse.summary import summarize
from keras_perf.records.run.times.outlier import Cause, Outlier
from keras_perf.report.as_json import reports_json
from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.run_report import RunReport
from keras_perf.report.runs_table import RunsTable
from keras_perf.report.text.text_tab import gpus_markdown, outliers_markdown

NAMES = st.tuples(TAG_TEXT, *[ANY_TEXT] * 5)
"""The first one, the owner's, is in a tag too."""


def context_of(owner, mapped, function, reason, layer, host):
    """A context in which every name that a form shows is one of these."""
    event = Outlier(40, Cause.CALLBACK, owner, 900.0, 4.0)
    total = {"cause": "callback", "owner": owner, "count": 1, "total_ms": 900.0}
    kinds = ("map", "shuffle", "batch", "filter")
    chain = [
        {
            "kind": kind if kind != "filter" else mapped,
            "function": function,
            "parallel": False,
            "stateful": True,
            "random": True,
            "python": False,
            "one_at_a_time": False,
            "reads_files": False,
            "elements": 100,
        }
        for kind in reversed(kinds)
    ]
    return {
        **between_epochs(callbacks={owner: 2.0}),
        "cpu_count": 8,
        "epochs": 3,
        "stages": [stage(mapped, 3.0), stage("Map", 4.0)],
        "dataset": {"chains": [chain], "prefetch_added": True, "deterministic": True},
        "events": [event],
        "event_totals": [total],
        "optimizer": layer,
        "steps_per_execution_trial": {"not_tried": reason},
        "trace_agreement": [{"part": host, "trace_ms": 3.0, "split_ms": 4.0, "why": "profiler"}],
    }


def diagnosed(names):
    owner = names[0]
    parts = {"input_wait": 2.0, "compute": 2.0, "callbacks": 4.0}
    points = [point(end, 10, 8.0, **parts) for end in range(10, 110, 10)]
    points = [(end, values | {f"perf_callbacks/{owner}_ms": 4.0}) for end, values in points]
    return diagnosis_of(summarize(frame(*points), facts_of(context_of(*names))))


def markdown_of(names):
    first, plain = diagnosed(names), diagnosed(["name"] * 6)
    report = RunReport(names[5], first, frame())
    yield first.to_markdown()
    yield comparison_of(first, plain).to_markdown()
    yield RunsTable([report, report]).to_markdown()
    yield outliers_markdown(first.summary.facts.outliers.events)
    yield gpus_markdown([("gpu/0", names[0], [names[1]])])


def tables(text):
    """The number of columns of each row of each table."""
    rows = [re.sub(r"\\.", "", line) for line in text.splitlines()]
    return [row.count("|") if row.startswith("|") else 0 for row in rows]


@given(NAMES)
@settings(max_examples=15, deadline=None)
def test_markdown_keeps_its_lines_and_columns_and_holds_no_tag(names):
    # A name that is no identifier is not in the code to paste, and one may be a callback's own.
    names = [f"My {name}" for name in names]
    usual = list(markdown_of(["My name"] * 6))
    for text, plain in zip(markdown_of(names), usual, strict=True):
        assert "<" not in text
        assert text.replace("\n", "").isprintable()
        assert sorted(tables(text)) == sorted(tables(plain))
        assert text.count("```") == plain.count("```")


@pytest.mark.fault(2, "any text for every name of a run")
@given(NAMES)
@settings(max_examples=15, deadline=None)
def test_a_terminal_is_given_lines_of_what_can_be_seen(names):
    first = diagnosed(names)
    report = RunReport(names[5], first, frame())
    told = [str(first), str(comparison_of(first, first)), str(RunsTable([report, report]))]
    told += [first.explanation, *first.notes, *first.details]
    told += [advice.reason + advice.title for advice in first.recommendations]
    for text in told:
        assert text.replace("\n", "").isprintable()
    assert json.loads(reports_json([report]))["runs"][0]["run"] == names[5]


def test_what_the_others_vary_is_all_there():
    names = ["owner", "Stage", "function", "reason", "layer", "host"]
    text = diagnosed(names).with_details().to_markdown()
    assert "| owner |" in text
    assert "| callback owner |" in text
    assert "| Stage (1) |" in text
    assert "shuffle(function) comes after batch(function)" in text
    assert "Dispatch was not measured and is inside compute; not tried: reason." in text
    assert "The trace and the split differ on host: 3 ms in the trace" in text
    assert "```python" in text
