"""keras-perf compare: every form of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hand_built import CALL, write_calls, write_fit

from keras_perf.cli.main import main
from keras_perf.write.run_writer import RunWriter


@pytest.fixture
def runs(tmp_path):
    for name, step_ms in {"a": 4.0, "b": 2.0}.items():
        write_fit(tmp_path / name, step_ms=step_ms, context={"cpu_count": 8})
    return [str(tmp_path / name) for name in "ab"]


@pytest.mark.parametrize(("form", "begin"), [((), ""), (("--markdown",), "## ")])
def test_the_interval_of_every_part_is_told(runs, form, begin, capsys):
    assert main(["compare", *runs, *form]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{begin}A step is 2.00× as fast")
    assert told.count("1.000 to 1.000") == 2
    assert told.count("2.000 to 2.000") == 1


def test_an_event_file_stands_for_its_run(runs, tmp_path, capsys):
    [file] = (tmp_path / "a" / "perf").glob("events.out.tfevents.*")
    assert main(["compare", str(file), runs[1]]) == 0
    assert capsys.readouterr().out.startswith("A step is 2.00× as fast")


def test_the_page_holds_both_runs_and_what_changed(runs, tmp_path, capsys):
    file = tmp_path / "page.html"
    assert main(["compare", *runs, "--html", str(file)]) == 0
    assert capsys.readouterr().out == f"Written: {file}\n"
    page = file.read_text(encoding="utf-8")
    assert f"From {runs[0]} to {runs[1]}" in page
    assert "1.000 to 1.000" in page


def test_calls_with_a_directory_of_their_own_are_no_run_of_the_page(runs, tmp_path, capsys):
    program, file = tmp_path / "program", tmp_path / "page.html"
    write_calls(program / "calls_1", evaluate=CALL)
    write_fit(program / "fit_1", step_ms=4.0)
    assert main(["compare", str(program), runs[1], "--html", str(file)]) == 0
    capsys.readouterr()
    assert "fit_1" in file.read_text(encoding="utf-8")
    assert "calls_1" not in file.read_text(encoding="utf-8")


def test_two_forms_at_once_are_exit_code_2(runs, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *runs, "--markdown", "--html", "page.html"])
    assert exit_.value.code == 2
    assert "argument --" in capsys.readouterr().err


def test_json_has_what_the_table_has(runs, capsys):
    assert main(["compare", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert (found["speedup"], found["low"], found["high"]) == (2.0, 2.0, 2.0)
    assert found["parts"][-1] == {
        "part": "step",
        "before_ms": 4.0,
        "after_ms": 2.0,
        "saved_ms": 2.0,
        "low": 2.0,
        "high": 2.0,
    }
    assert found["change"] == {"ratio": 0.5, "low": 0.5, "high": 0.5, "word": "faster"}
    assert (found["tolerance"], found["exceeded"]) == (None, None)


@pytest.fixture
def varying(tmp_path):
    """Runs of 40 intervals: `base`, `same` by chance alone, `slower` by 20%.

    Beside `busy` and `far_slower` other processes used 60% of the CPUs, beside `full` nearly all.
    """
    random = np.random.default_rng(0)
    slower = {"slower": 1.2, "little": 1.06, "busy": 1.2, "far_slower": 3.0, "full": 9.0}
    for name, factor in {"base": 1.0, "same": 1.0, **slower}.items():
        others_pct = {"busy": 60.0, "far_slower": 60.0, "full": 95.0}.get(name, 0.0)
        load = {"host/cpu_pct": others_pct, "host/process_cpu_pct": 0.0}
        writer = RunWriter(str(tmp_path / name))
        for place, spread in enumerate(random.normal(1.0, 0.05, 40), 1):
            values = {"perf/step_time_ms": 4.0 * factor * spread, "perf/interval_steps": 10.0}
            writer.scalars(10 * place, values | load, wall_time=float(place))
        writer.close()
    return tmp_path


@pytest.mark.parametrize(
    ("after", "tolerance", "code", "told"),
    [
        ("slower", "5%", 1, "slower by more than 5%: a step takes 1.2"),
        ("slower", "50%", 0, "not slower by more than 50%: a step takes 1.2"),
        ("same", "5%", 0, "not slower by more than 5%: a step takes "),
        ("little", "5", 0, "inconclusive: a step takes 1.0"),
        ("busy", "5%", 0, "inconclusive: a step takes 1.2"),
        ("far_slower", "5%", 1, "slower by more than 5%: a step takes "),
        ("full", "5%", 0, "inconclusive: a step takes 9."),
    ],
)
def test_a_regression_is_exit_code_1_with_a_line(varying, after, tolerance, code, told, capsys):
    command = ["compare", str(varying / "base"), str(varying / after), "--json"]
    assert main([*command, "--fail-if-slower", tolerance]) == code
    output = capsys.readouterr()
    [line] = output.err.splitlines()
    assert line.startswith(f"keras-perf compare: {told}")
    assert "(98% interval: " in line
    exceeded = {"not ": False, "slow": True, "inco": None}[told[:4]]
    assert json.loads(output.out)["exceeded"] is exceeded


def test_a_load_that_alone_explains_a_slower_run_is_named(varying, capsys):
    base, busy = str(varying / "base"), str(varying / "busy")
    assert main(["compare", base, busy, "--fail-if-slower", "5%"]) == 0
    assert capsys.readouterr().err.endswith(
        "but other processes used 60% of the CPUs meanwhile, and 0% before: train again without "
        "them\n"
    )
    assert main(["compare", busy, base, "--fail-if-slower", "5%"]) == 0
    assert "not slower by more than 5%" in capsys.readouterr().err


def test_too_few_intervals_are_said_and_do_not_fail(tmp_path, capsys):
    for name, step_ms in (("a", 2.0), ("b", 4.0)):
        write_fit(tmp_path / name, step_ms=step_ms, intervals=2)
    runs = [str(tmp_path / name) for name in "ab"]
    assert main(["compare", *runs, "--fail-if-slower", "5%"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("A step is 0.50× as fast")
    assert "inconclusive: a step takes 2.00× as long, but one of the runs has fewer" in output.err


@pytest.mark.parametrize("wrong", ["fast", "-5%", "inf", "nan%"])
def test_a_tolerance_that_is_no_percentage_is_exit_code_2(runs, wrong, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *runs, f"--fail-if-slower={wrong}"])
    assert exit_.value.code == 2
    assert f"--fail-if-slower: invalid percentage value: '{wrong}'" in capsys.readouterr().err
