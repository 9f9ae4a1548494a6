"""A directory of evaluate and predict alone, or beside a training, gives a sensible report."""

from __future__ import annotations

import json
import math

from hand_built import CALL, write_calls, write_fit

from keras_perf.cli.main import main
from keras_perf.report.as_json import reports_json
from keras_perf.report.diagnosis import diagnose
from keras_perf.report.run_report import run_reports


def test_a_directory_of_calls_alone_shows_their_split(tmp_path, capsys):
    write_calls(tmp_path, evaluate=CALL)
    found = diagnose(tmp_path)
    assert found.verdict == "inconclusive"
    assert math.isnan(found.breakdown["step"])
    text = str(found)
    assert "no training was measured here" in text
    assert "part of a step" not in text
    [row] = [line.split() for line in text.splitlines() if line.startswith("evaluate")]
    assert row == ["evaluate", "2", "20", "5.000", "1.500", "2.500", *"–––", "1.000", "6,400"]
    assert main(["report", str(tmp_path)]) == 0
    assert "evaluate" in capsys.readouterr().out


def test_all_forms_of_the_report_have_it(tmp_path, capsys):
    write_calls(tmp_path, evaluate=CALL, predict=CALL)
    [report] = run_reports([tmp_path])
    [run] = json.loads(reports_json([report]))["runs"]
    assert run["inference"]["predict"]["steps"] == 20
    assert "| predict | 2 | 20 |" in report.diagnosis.to_markdown()
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--html", str(page)]) == 0
    assert "Validation, evaluate and predict" in page.read_text()
    capsys.readouterr()


def test_beside_a_training_that_is_what_is_shown(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    write_calls(tmp_path, predict=CALL)
    found = diagnose(tmp_path)
    assert found.breakdown["step"] == 4.0
    assert any("of evaluate or predict, not of a training: fit 2" in n for n in found.notes)
    assert not any("without a measured step" in note for note in found.notes)
    assert "predict" in str(diagnose(tmp_path, fit=2))


def test_a_training_s_validation_is_no_call_of_a_user_s(tmp_path):
    write_calls(tmp_path, validation=CALL)
    assert "no step was measured" in diagnose(tmp_path).explanation
