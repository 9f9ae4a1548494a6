"""keras-perf compare: every form of it."""

from __future__ import annotations

import pytest
from hand_built import write_fit

from keras_perf.cli.main import main


@pytest.fixture
def runs(tmp_path):
    for name, step_ms in {"a": 4.0, "b": 2.0}.items():
        write_fit(tmp_path / name, step_ms=step_ms, context={"cpu_count": 8})
    return [str(tmp_path / name) for name in "ab"]


@pytest.mark.parametrize(("form", "begin"), [((), ""), (("--markdown",), "## ")])
def test_the_interval_of_every_part_is_told(runs, form, begin, capsys):
    assert main(["compare", *runs, *form]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{begin}2.00× as fast")
    assert told.count("1.000 to 1.000") == 2
    assert told.count("2.000 to 2.000") == 1


def test_the_page_holds_both_runs_and_what_changed(runs, tmp_path, capsys):
    file = tmp_path / "page.html"
    assert main(["compare", *runs, "--html", str(file)]) == 0
    assert capsys.readouterr().out == f"Written: {file}\n"
    page = file.read_text(encoding="utf-8")
    assert f"From {runs[0]} to {runs[1]}" in page
    assert "1.000 to 1.000" in page


def test_two_forms_at_once_are_exit_code_2(runs, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *runs, "--markdown", "--html", "page.html"])
    assert exit_.value.code == 2
    assert "argument --" in capsys.readouterr().err
