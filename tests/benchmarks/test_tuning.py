"""What `tune_input` gains beside what else one could do, on two short pipelines."""

import json
import sys

import pytest
import tuning
from trying.pipelines import PIPELINES

from keras_perf.trials.rewriting.same_elements import checksums

BY_NAME = {each.name: each for each in PIPELINES}

PUBLISHED = {
    "image_classification_from_scratch",
    "wide_deep_cross_networks",
    "text_classification_from_scratch",
    "super_resolution_sub_pixel",
}


def test_the_demo_and_four_published_programs_are_among_the_pipelines():
    assert {"the demo's digits"} | PUBLISHED <= BY_NAME.keys()


# The data of the others are drawn anew each time.
@pytest.mark.parametrize("name", ["the demo's digits", "super_resolution_sub_pixel"])
def test_by_hand_it_is_the_same_data(name):
    pipeline = BY_NAME[name]
    assert checksums(pipeline.by_hand(), 20, 60) == checksums(pipeline.written(), 20, 60)


@pytest.mark.whole
def test_each_pipeline_runs_in_four_ways_in_turn(tmp_path, monkeypatch):
    file = tmp_path / "found.json"
    names = ["small images", "super_resolution_sub_pixel"]
    arguments = ["--budget-s", "2", "--only", ",".join(names), "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["tuning.py", *arguments])
    monkeypatch.setattr(tuning, "ROUNDS", 1)
    tuning.main()
    rows = json.loads(file.read_text(encoding="utf-8"))["tables"]["pipelines"]
    assert {each["pipeline"] for each in rows} == set(names)
    assert all(each[way] > 0 for each in rows for way in tuning.WAYS)
