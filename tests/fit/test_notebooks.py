"""Every notebook runs as it stands, and what is stored in it is what it showed."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import nbformat
import programs
import pytest
from nbclient.exceptions import CellTimeoutError

from keras_perf.observation.facts.model_facts import metrics_add_up

sys.path.append(str(Path(__file__).parents[2] / "notebooks"))

import run_all

SHOWN = {
    "first_look": "callback-bound",
    "input_bound": "parallel-map",
    "what_a_call_costs": "measured, ms per step",
    "try_its_own_advice": "the model is as it was: True",
    "reading_a_trace": "20 traced steps",
    "batch_size_and_learning_rate": "mixed_float16: ",
    "replicas_and_workers": "validation: loss",
    "runs_in_pandas": "keras-perf compare logs/2_better logs/3_worse --fail-if-slower 5%",
    "gpu_figures": "gpu/0/validation_utilization_pct",
}
"""Of each notebook, what it shows on any machine."""

NEEDS = {
    "input_bound": programs.needs_gap_times,
    "replicas_and_workers": pytest.mark.skipif(
        not metrics_add_up(), reason="with this Keras, several replicas are refused"
    ),
}
"""What cannot be shown with every version."""

STORED = {
    "input_bound": r"Run the map in parallel: stage Map \(\d\) +taken ",
    "replicas_and_workers": "perf/worker_1",
}
"""What is stored shows besides: the advice that its text follows, and both workers."""

BUSY = 2
"""How many times as long a notebook may take where other programs use the cores too."""

PAGE = run_all.FOLDER.parent / "docs" / "notebooks.md"


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(run_all.FOLDER / f"{name}.ipynb", as_version=4)


def outputs(notebook) -> list[nbformat.NotebookNode]:
    return [each for cell in notebook.cells for each in cell.get("outputs", ())]


@pytest.mark.whole
@pytest.mark.parametrize("name", [pytest.param(n, marks=NEEDS.get(n, ()), id=n) for n in SHOWN])
# The kernel's client is not closed by nbclient under Python 3.11.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_the_notebook_runs(name):
    notebook = run_all.executed(run_all.FOLDER / f"{name}.ipynb", BUSY * run_all.LIMIT_S)
    shown = str(outputs(notebook))
    assert SHOWN[name] in shown
    assert "Empty DataFrame" not in shown


def test_every_notebook_is_tested_and_listed():
    names = {path.stem for path in run_all.FOLDER.glob("*.ipynb")}
    assert names == set(SHOWN)
    listed = PAGE.read_text(encoding="utf-8")
    assert [name for name in sorted(names) if f"notebooks/{name}.ipynb" not in listed] == []


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_stored_is_whole_and_of_no_machine(name):
    notebook = read(name)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        ast.parse(re.sub("^%.*", "", cell.source, flags=re.MULTILINE))
        assert cell.execution_count == number, "python notebooks/run_all.py stores outputs"
    shown = outputs(notebook)
    assert SHOWN[name] in str(shown)
    assert re.search(STORED.get(name, ""), str(shown))
    assert "Empty DataFrame" not in str(shown)
    assert "error" not in {each.output_type for each in shown}
    assert any("image/png" in each.get("data", {}) for each in shown)
    text = str([each.get("text") or dict(each.data, **{"image/png": ""}) for each in shown])
    assert [path for path in ("/tmp/", "/root/", "/home/", "/Users/") if path in text] == []
    assert notebook == run_all.stored(read(name))


def test_the_text_names_the_advice_that_is_followed_and_the_one_that_is_not():
    cells = read("input_bound").cells
    followed = next(at for at, cell in enumerate(cells) if "num_parallel_calls" in cell.source)
    for advice in ("`cache`", "`parallel-map`"):
        assert advice in cells[followed - 1].source


def test_a_notebook_that_takes_too_long_is_ended(tmp_path):
    path = tmp_path / "long.ipynb"
    cells = [nbformat.v4.new_code_cell(f"import time; time.sleep({each})") for each in (0, 600)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(CellTimeoutError):
        run_all.executed(path, limit_s=1)


def test_folders_and_the_host_are_taken_out_of_what_is_stored(monkeypatch):
    monkeypatch.setattr(run_all.socket, "gethostname", lambda: "goldfinch")
    text = f"at /tmp/ipykernel_12/345.py of goldfinch\nI0000 00:00:1.5 stub.cc:31] {sys.prefix}\n"
    assert run_all.without_machine(text) == "at this notebook of …\n"
