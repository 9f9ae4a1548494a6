"""The README and the documentation say what the code does."""

from __future__ import annotations

import re
from inspect import isfunction, signature

import metrics_page
import peaks_page
from pages import DOCS, PAGES, ROOT, blocks

import keras_perf
from keras_perf.records.metrics.all_metrics import METRICS

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_the_readme_shortens_the_demo_s_output_and_changes_nothing():
    [shown] = [block for block in blocks(ROOT / "README.md") if "compute" in block.text]
    whole = " ".join((DOCS / "quickstart.md").read_text(encoding="utf-8").split())
    lines = [" ".join(line.split()).removesuffix(" …") for line in shown.text.splitlines()]
    assert len(lines) > 20
    assert [line for line in lines if line not in whole] == []


def test_the_table_of_metrics_is_the_code_s():
    text = metrics_page.PAGE.read_text(encoding="utf-8")
    assert text == metrics_page.page(), "python tests/unit/documents/metrics_page.py writes it anew"


def test_the_table_of_peaks_is_the_code_s():
    text = peaks_page.PAGE.read_text(encoding="utf-8")
    assert text == peaks_page.page(), "python tests/unit/documents/peaks_page.py writes it anew"


def test_every_public_name_is_in_the_reference():
    reference = (DOCS / "api.md").read_text(encoding="utf-8")
    assert [name for name in keras_perf.__all__ if f":: keras_perf.{name}\n" not in reference] == []


def test_every_result_is_public():
    public = {name: getattr(keras_perf, name) for name in keras_perf.__all__}
    functions = filter(isfunction, public.values())
    returned = {str(signature(each).return_annotation) for each in functions}
    assert {name for name in returned if name.isidentifier()} <= public.keys() | {"float"}
    recommender = keras_perf.StepsPerExecutionRecommender.__doc__
    [recommended] = re.findall("a `([A-Z][A-Za-z]+)`:", recommender)
    assert recommended in public


def test_every_public_name_is_mentioned_elsewhere():
    records = {"BatchSizeSweep", "Comparison", "Diagnosis", "LearningRateCurve"}
    elsewhere = TEXT.replace((DOCS / "api.md").read_text(encoding="utf-8"), "")
    assert [n for n in keras_perf.__all__ if n not in records and n not in elsewhere] == []


def test_every_tag_that_is_named_is_one_of_the_table():
    named = set(re.findall(r"`([a-z_]+/[^`…*]*_(?:ms|pct|mib|w|j|c|mhz|per_sec))`", TEXT))
    tags = {metric.tag for metric in METRICS}
    assert len(named) > 30
    assert [tag for tag in named if tag.replace("/0/", "/<i>/") not in tags] == []
