"""What the Performance tab answers to a browser."""

import os
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from answers import parts_of, text_of
from hand_built import CALL, write_calls

from keras_perf.read.left_out import LeftOutWarning
from keras_perf.tab import shown_runs
from keras_perf.tab.loader import PerformanceLoader
from keras_perf.tab.log_dirs import log_dirs

NASTY = 'a"><script>alert(1)<'


def content_of(answer):
    assert answer.status_code == 200, answer.text
    return answer.json["content"]


def rows_of(answer):
    return [each for each in parts_of(content_of(answer)) if each[0] == "tr"]


def test_runs_are_listed_the_newest_first(tab, runs):
    logs = runs("old", "deep/new")
    for name, seconds in (("old", 1e9), ("deep/new", 2e9)):
        for file in (logs / name).rglob("events*"):
            os.utime(file, (seconds, seconds))
    answer = tab(logs)("/runs")
    assert [run["name"] for run in answer.json["runs"]] == ["deep/new", "old"]


def test_calls_that_came_later_stand_behind_trainings_and_are_nobody_s_first(tab, runs):
    logs = runs("fit_1", "fit_2")
    write_calls(logs / "calls_1", evaluate=CALL)
    for place, name in enumerate(("calls_1", "fit_1", "fit_2", "calls_1")):
        for file in (logs / name).rglob("events*"):
            os.utime(file, (1e9 + place, 1e9 + place))
    ask = tab(logs)
    assert [run["name"] for run in ask("/runs").json["runs"]] == ["fit_2", "fit_1", "calls_1"]
    assert "1.00×" in str(rows_of(ask("/table")))


def test_a_run_that_has_grown_has_another_version_and_is_read_again(tab, runs, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    ask = tab(runs("a"))
    [before] = ask("/runs").json["runs"]
    first = content_of(ask("/page", run="a"))
    assert ask("/runs").json["runs"] == [before]
    runs("a", step_ms=9.0)
    [after] = ask("/runs").json["runs"]
    assert after["version"] != before["version"]
    assert content_of(ask("/page", run="a")) != first


def test_what_cannot_be_read_has_one_line_however_often_the_tab_looks(tab, runs, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    logs, scandir = runs("a", "b"), os.scandir

    def refusing(path):
        if os.fspath(path) == str(logs / "b" / "perf"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    [path] = (logs / "a" / "perf").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x41
    path.write_bytes(data)
    ask = tab(logs)

    def look_again_and_again():
        for tail in (b"", b"12345", b"67890"):
            path.write_bytes(path.read_bytes() + tail)
            assert [run["name"] for run in ask("/runs").json["runs"]] == ["a"]
            assert content_of(ask("/page", run="a"))

    with pytest.warns(LeftOutWarning) as caught:
        look_again_and_again()
    kinds = "cannot be read|ends in the middle|is damaged"
    told = [re.search(kinds, str(each.message))[0] for each in caught]
    assert sorted(told) == kinds.split("|")


def test_of_a_run_that_grows_one_report_is_kept(tab, runs, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    ask = tab(runs("a"))
    for step_ms in (5.0, 6.0, 7.0):
        ask("/page", run="a")
        runs("a", step_ms=step_ms)
    assert len(ask.plugin._runs._kept_runs) == 1


def test_reports_are_given_up_when_they_hold_many_scalars(tab, runs, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.MOST_SCALARS", 200)
    read = []
    report_of = shown_runs.report_of

    def counted(log_dir, training):
        read.append(log_dir)
        return report_of(log_dir, training)

    monkeypatch.setattr(shown_runs, "report_of", counted)
    ask = tab(runs("a", "b", "c", "d"))
    assert len(rows_of(ask("/table"))) >= 5
    assert 1 <= len(ask.plugin._runs._kept_runs) < 4
    # Those that are kept are not read again, though all are asked for in turn.
    first = len(read)
    ask("/table")
    assert first == 4
    assert len(read) - first < 4


@pytest.mark.parametrize("breaks", [FileNotFoundError("gone"), KeyError("odd")])
def test_a_run_that_cannot_be_read_leaves_the_others_in_the_table(
    tab, runs, monkeypatch, caplog, breaks
):
    report_of = shown_runs.report_of

    def of_all_but_one(log_dir, training):
        if log_dir.endswith("/bad"):
            raise breaks
        return report_of(log_dir, training)

    monkeypatch.setattr(shown_runs, "report_of", of_all_but_one)
    ask = tab(runs("good", "bad"))
    table = ask("/table")
    told = text_of(content_of(table))
    assert "good" in told
    assert "bad" not in told
    page = ask("/page", run="bad")
    assert page.status_code == 500
    assert breaks.args[0] in page.text
    # A page that is open for a day asks thousands of times.
    for _ in range(3):
        ask("/page", run="bad")
        ask("/table")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(set(lines)) == 2


def test_a_run_in_a_folder_with_the_name_of_runs_is_told_from_the_one_above(tab, runs):
    ask = tab(runs("a", "a/perf"))
    assert {run["name"] for run in ask("/runs").json["runs"]} == {"a", "a/perf"}
    for name in ("a", "a/perf"):
        assert ask("/page", run=name).status_code == 200


def test_while_a_long_run_is_read_the_rest_of_tensorboard_goes_on(tab, runs, monkeypatch):
    reads, may_end = threading.Event(), threading.Event()
    report_of = shown_runs.report_of

    def long(log_dir, training):
        if log_dir.endswith("/long"):
            reads.set()
            assert may_end.wait(60)
        return report_of(log_dir, training)

    monkeypatch.setattr(shown_runs, "report_of", long)
    ask = tab(runs("long", "read"))
    ask("/page", run="read")
    reader = threading.Thread(target=ask, args=["/page"], kwargs={"run": "long"})
    reader.start()
    try:
        assert reads.wait(60)
        assert ask.plugin.is_active()
        assert len(ask("/runs").json["runs"]) == 2
        assert ask("/page", run="read").status_code == 200
    finally:
        may_end.set()
        reader.join()


def test_a_directory_that_is_listed_for_long_does_not_hold_up_tensorboard(tab, runs, monkeypatch):
    run_files, may_end = shown_runs.run_files, threading.Event()

    def long(log_dir):
        assert may_end.wait(60)
        return run_files(log_dir)

    monkeypatch.setattr(shown_runs, "run_files", long)
    monkeypatch.setattr(shown_runs, "PATIENCE_S", 0.01)
    ask = tab(runs("a"))
    assert not ask.plugin.is_active()
    may_end.set()
    assert ask("/runs").json["runs"]
    assert ask.plugin.is_active()


def test_a_page_is_that_of_the_report(tab, runs):
    content = content_of(tab(runs("a"))("/page", run="a"))
    assert content[0] == "main"
    parts = [*parts_of(content)]
    assert ["h1", {"class": "where"}, ["a"]] in parts
    assert "card verdict" in [attributes.get("class") for _, attributes, _ in parts]
    assert ["h3", {}, ["Where a step goes"]] in parts


def test_two_runs_are_compared(tab, runs):
    runs("a", step_ms=8.0)
    text = text_of(content_of(tab(runs("b"))("/page", run=["a", "b"])))
    assert "2 runs compared" in text
    assert "Side by side" in text


def test_all_runs_are_a_row_each(tab, runs):
    names = [f"run{number}" for number in range(20)]
    table = tab(runs(*names))("/table")
    assert len(rows_of(table)) >= 21
    assert "svg" not in [each[0] for each in parts_of(content_of(table))]


@pytest.mark.parametrize("written_last", ["earlier", "later"])
def test_all_runs_are_compared_with_the_one_trained_first(tab, runs, written_last):
    runs("earlier", step_ms=8.0)
    logs = runs("later", step_ms=4.0)
    for file in logs.rglob("events.*"):
        seconds = 2e9 if written_last in file.parts else 1e9
        os.utime(file, (seconds, seconds))
    ask = tab(logs)
    assert ask("/runs").json["runs"][0]["name"] == written_last
    table = ask("/table")
    rows = [[text_of(cell).strip() for cell in cells] for _, _, cells in rows_of(table)[1:3]]
    assert {row[0]: row[-1] for row in rows} == {"earlier": "1.00×", "later": "2.00×"}
    assert "the first being earlier;" in text_of(content_of(table))


@pytest.mark.parametrize("name", ["../secret", "/etc", "", "a/../../b", "no such run"])
def test_only_runs_that_were_found_can_be_asked_for(tab, runs, name):
    runs("../secret")
    answer = tab(runs("a"))("/page", run=name)
    assert answer.status_code == 404
    assert answer.content_type.startswith("text/plain")


def test_a_page_of_no_run_is_refused(tab, runs):
    assert tab(runs("a"))("/page").status_code == 400


def test_a_name_is_no_markup(tab, runs):
    name = NASTY.replace("/", "")
    ask = tab(runs(name))
    content = content_of(ask("/page", run=ask("/runs").json["runs"][0]["name"]))
    assert ["h1", {"class": "where"}, [name]] in parts_of(content)


def test_where_nothing_is_the_tab_is_inactive_and_becomes_active(tab, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    ask = tab(tmp_path / "logs")
    assert not ask.plugin.is_active()
    assert ask("/runs").json == {"runs": []}
    runs("a")
    assert ask.plugin.is_active()


def test_what_the_browser_loads_is_there(tab, runs):
    ask = tab(runs("a"))
    assert "export async function render" in ask("/index.js").text
    assert ask("/index.js").content_type.startswith("text/javascript")
    for sheet in ("/tab.css", "/page.css"):
        assert ask(sheet).content_type.startswith("text/css")
    assert ask.plugin.frontend_metadata().es_module_path in ask.plugin.get_plugin_apps()


def test_every_module_that_is_imported_is_there_and_none_runs_text(tab, runs):
    ask = tab(runs("a"))
    modules, read = ["/index.js", "/file.js"], {}
    while modules:
        module = modules.pop()
        answer = ask(module)
        assert answer.content_type.startswith("text/javascript")
        read[module] = answer.text
        imported = re.findall(r'^import .* from "\.(/[a-z_]+\.js)";$', answer.text, re.MULTILINE)
        modules += set(imported) - set(read)
    assert set(read) == {route for route in ask.plugin.get_plugin_apps() if route.endswith(".js")}
    for module, text in read.items():
        assert not re.search(
            r"\beval\b|(inner|outer|Adjacent)HTML|DOMParser|new Function|document\.write", text
        ), module


def test_several_directories_by_name():
    spec = "one:/logs/a,/logs/b:c,gs://bucket/d,two:gs://bucket/e"
    assert log_dirs("", SimpleNamespace(logdir_spec=spec)) == {
        "one": "/logs/a",
        "/logs/b:c": "/logs/b:c",
        "gs://bucket/d": "gs://bucket/d",
        "two": "gs://bucket/e",
    }
    assert log_dirs("/logs", None) == {"": "/logs"}
    assert log_dirs(None, None) == {}


def test_a_name_of_two_directories_hides_neither(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    spec = SimpleNamespace(logdir_spec="a:~/one,a:/two")
    assert log_dirs("", spec) == {"a": "/home/anna/one", "/two": "/two"}
    assert log_dirs("~/logs", None) == {"": "/home/anna/logs"}


def test_runs_of_several_directories_have_their_names(tab, runs):
    logs = runs("a", "b")
    spec = SimpleNamespace(logdir_spec=f"x:{logs / 'a'},y:{logs / 'b'}")
    assert {run["name"] for run in tab("", spec)("/runs").json["runs"]} == {"x", "y"}


def test_a_remote_log_directory_is_shown_too(tab, runs):
    tf = pytest.importorskip("tensorflow")
    logs = runs("a")
    for file in (logs / "a").rglob("events*"):
        tf.io.gfile.makedirs("ram://tab/a/perf")
        tf.io.gfile.copy(str(file), f"ram://tab/a/perf/{file.name}")
    ask = tab("ram://tab")
    assert [run["name"] for run in ask("/runs").json["runs"]] == ["a"]
    assert "Where a step goes" in text_of(content_of(ask("/page", run="a")))


@pytest.mark.fault(1, "something that the tab needs cannot be imported when TensorBoard starts")
def test_tensorboard_starts_where_the_tab_cannot(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "keras_perf.tab.plugin", None)
    assert PerformanceLoader().load(SimpleNamespace(logdir="", flags=None)) is None
    assert "There is no Performance tab" in caplog.text


def test_the_loader_imports_nothing_heavy():
    heavy = "{'pandas', 'tensorflow', 'matplotlib', 'keras'}"
    program = f"import sys, keras_perf.tab.loader; print({heavy} & set(sys.modules))"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "set()"


def test_while_a_thread_lists_the_runs_others_have_those_of_the_last_time(tab, runs, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    ask = tab(runs("a"))
    before = ask("/runs").json
    with ask.plugin._runs._listing:
        runs("b")
        assert ask("/runs").json == before
    assert len(ask("/runs").json["runs"]) == 2
