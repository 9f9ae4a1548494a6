"""Which fits a directory holds, which of them is shown, and what is said of the others."""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType, SimpleNamespace

import pytest
from hand_built import between_epochs, facts_of, write_fit
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.summary.writer import event_file_writer

from keras_perf.analyse.training import UnknownFitError
from keras_perf.cli.main import main
from keras_perf.files.remote_path import RemotePath
from keras_perf.read import fits
from keras_perf.read.fits import fits_of
from keras_perf.records.fit_identity import FitIdentity
from keras_perf.records.run_names import worker_run
from keras_perf.report.compared.comparison import compare
from keras_perf.report.diagnosis import diagnose
from keras_perf.report.run_report import run_reports
from keras_perf.report.text.fit_list import list_fits
from keras_perf.write import fit_of_process
from keras_perf.write.run_writer import RunWriter


def write_unmeasured(log_dir, run="perf"):
    """A `fit` of two steps: it ended within the warm-up."""
    writer = RunWriter(str(log_dir), run)
    writer.scalars(2, {"host/cpu_pct": 10.0}, wall_time=50.0)
    writer.close()
    return writer.fit


def write_between(log_dir, first_s, last_s, run="perf"):
    """A `fit` of a hundred steps between two moments."""
    writer = RunWriter(str(log_dir), run)
    for place, at_s in enumerate((first_s, last_s), 1):
        values = {"perf/step_time_ms": 4.0, "perf/interval_steps": 50.0}
        writer.scalars(50 * place, values, wall_time=at_s)
    writer.close()
    return writer.fit


def pretend_process(monkeypatch, process, host="one"):
    """The next writers are another process's."""
    monkeypatch.setattr(fit_of_process.os, "getpid", lambda: process)
    monkeypatch.setattr(fit_of_process.socket, "gethostname", lambda: host)


# -- who it is ---------------------------------------------------------------------------


def test_a_fit_says_who_it_is_first_of_all(tmp_path):
    writer = RunWriter(str(tmp_path), clock=lambda: 1e9)
    writer.close()
    [fit] = fits_of(tmp_path)["perf"]
    assert fit.identity == writer.fit
    assert (writer.fit.sequence, writer.fit.started, writer.fit.process) == (1, 1e9, os.getpid())
    assert len(writer.fit.id) == 6


def test_the_sequence_goes_on_from_the_highest_that_is_there(tmp_path):
    folder = tmp_path / "perf"
    folder.mkdir()
    (folder / "events.out.tfevents.1.host.1.0.fit-7").touch()
    (folder / "events.out.tfevents.1.host.1.0.fit-12").touch()
    (folder / "events.out.tfevents.9.host.1.0").touch()
    writer = RunWriter(str(tmp_path))
    writer.close()
    assert writer.fit.sequence == 13
    assert len(list(folder.glob("*.fit-13"))) == 1


def test_each_worker_has_a_sequence_of_its_own(tmp_path):
    for number, count in ((0, 2), (1, 1)):
        for _ in range(count):
            write_between(tmp_path, 1.0, 2.0, worker_run(number))
    frame = list_fits(tmp_path)
    assert list(zip(frame["run"], frame["sequence"], strict=True)) == [
        ("perf/worker_0", 1),
        ("perf/worker_0", 2),
        ("perf/worker_1", 1),
    ]


@pytest.mark.fault(3, "a directory that cannot be listed when a fit begins")
def test_a_directory_that_cannot_be_listed_takes_the_clock_for_the_sequence(tmp_path, monkeypatch):
    def refusing(folder):
        raise PermissionError(13, "Permission denied", folder)

    write_fit(tmp_path, step_ms=4.0)
    monkeypatch.setattr(fit_of_process.os, "listdir", refusing)
    writer = RunWriter(str(tmp_path), clock=lambda: 1.7e9)
    writer.close()
    assert writer.fit.sequence == 1_700_000_000


def test_a_directory_elsewhere_is_listed_too(monkeypatch):
    RemotePath.of("memory://bucket/perf/events.out.tfevents.1.host.1.0.fit-4").write_bytes(b"")
    assert fit_of_process.identity_of_fit("memory://bucket/perf", 1.0).sequence == 5
    assert fit_of_process.identity_of_fit("memory://other/perf", 1.0).sequence == 1
    monkeypatch.delattr(RemotePath, "names")
    assert fit_of_process.identity_of_fit("memory://bucket/perf", 99.0).sequence == 99


@pytest.mark.parametrize(
    ("module", "file", "name"),
    [
        (None, "/home/me/train.py", "train.py"),
        ("my.training.__main__", "/home/me/my/training/__main__.py", "-m my.training"),
        (None, None, "interactive"),
    ],
)
def test_the_program_is_named_as_it_was_started(monkeypatch, module, file, name):
    main_module = ModuleType("__main__")
    main_module.__spec__ = None if module is None else ModuleType("spec")
    if module is not None:
        main_module.__spec__.name = module
    if file is not None:
        main_module.__file__ = file
    monkeypatch.setitem(sys.modules, "__main__", main_module)
    assert fit_of_process.program_name() == name


@pytest.mark.parametrize(
    ("shell", "is_one"),
    [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=object()), True)],
    ids=["starts kernels", "terminal", "kernel"],
)
def test_a_notebook_is_named_so(monkeypatch, shell, is_one):
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert (fit_of_process.program_name() == "notebook") is is_one


RECORD = FitIdentity("3fa2c1", 7, 1e9, "host", 4711, "train.py")


def test_an_identity_is_read_as_it_was_written():
    assert FitIdentity.from_json(RECORD.to_json()) == RECORD
    newer = json.dumps(json.loads(RECORD.to_json()) | {"container": "a"})
    assert FitIdentity.from_json(newer) == RECORD


@given(
    name=st.sampled_from(list(json.loads(RECORD.to_json()))),
    wrong=st.sampled_from([None, "x", "", -1, float("nan"), float("inf"), 1e300, [], {}, [1]]),
)
def test_an_identity_with_a_wrong_value_is_read_as_none_or_with_a_possible_one(name, wrong):
    found = FitIdentity.from_json(json.dumps(json.loads(RECORD.to_json()) | {name: wrong}))
    if found is not None:
        assert getattr(found, name) == wrong
        assert isinstance(wrong, type(getattr(RECORD, name)) | int)


@pytest.mark.fault(3, "an identity of any bytes")
@given(st.binary())
def test_an_identity_of_any_bytes_is_none(data):
    assert FitIdentity.from_json(data) is None


@pytest.mark.fault(3, "a file of an earlier version")
def test_a_file_of_an_earlier_version_is_known_by_its_name(tmp_path):
    folder = tmp_path / "perf"
    folder.mkdir()
    (folder / "events.out.tfevents.0000000007.host.example.org.41.9").touch()
    [fit] = fits_of(tmp_path)["perf"]
    assert (fit.identity.started, fit.identity.host) == (7.0, "host.example.org")
    assert (fit.identity.process, fit.identity.sequence) == (41, 0)


# -- which one is shown ------------------------------------------------------------------


@pytest.mark.fault(3, "a short fit after a long one")
def test_a_fit_that_measured_nothing_does_not_hide_the_one_before_it(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    newer = write_unmeasured(tmp_path)
    found = diagnose(tmp_path)
    assert found.summary.steps == 100
    assert f"without a measured step, and therefore not what is shown: fit 2 ({newer.id})" in str(
        found
    )
    [report] = run_reports([tmp_path])
    assert report.step_ms == 4.0
    assert compare(tmp_path, tmp_path).speedup == 1.0


@pytest.mark.fault(3, "fits of which none measured a step")
def test_if_none_measured_a_step_the_newest_is_shown(tmp_path):
    write_unmeasured(tmp_path)
    newest = write_unmeasured(tmp_path)
    found = diagnose(tmp_path)
    assert "no step was measured" in found.explanation
    assert found.closing == "Without a measured step there are no recommendations."
    assert found.notes[0].startswith(f"This is fit 2 ({newest.id}), started ")


@pytest.mark.fault(3, "a clock that was set back")
def test_a_clock_that_was_set_back_makes_no_older_fit_the_newest(tmp_path, monkeypatch):
    write_fit(tmp_path, step_ms=4.0)
    monkeypatch.setattr(event_file_writer.time, "time", lambda: 5.0)
    write_fit(tmp_path, step_ms=2.0)
    assert diagnose(tmp_path).breakdown["step"] == 2.0


@pytest.mark.fault(3, "two fits that begin at the same moment")
def test_of_two_with_one_sequence_the_one_that_began_later_is_newer(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.write.fit_of_process.names_in", lambda folder: ())
    for started in (20.0, 10.0):
        RunWriter(str(tmp_path), clock=lambda now=started: now).close()
    assert [fit.identity.started for fit in fits_of(tmp_path)["perf"]] == [10.0, 20.0]


def test_a_single_fit_needs_no_note(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    assert "This is fit" not in str(diagnose(tmp_path))


@pytest.mark.parametrize("by", ["id", "sequence"])
def test_an_older_fit_is_shown_where_it_is_asked_for(tmp_path, by):
    write_fit(tmp_path, step_ms=4.0)
    write_fit(tmp_path, step_ms=2.0)
    first = fits_of(tmp_path)["perf"][0].identity
    found = diagnose(tmp_path, fit=getattr(first, by))
    assert found.breakdown["step"] == 4.0
    assert "Newer than what is shown: fit 2" in str(found)


@pytest.mark.fault(3, "a fit asked for that is not there")
def test_an_unknown_fit_names_those_that_are_there(tmp_path, capsys):
    write_fit(tmp_path, step_ms=4.0)
    there = fits_of(tmp_path)["perf"][0].identity.id
    with pytest.raises(ValueError, match=rf"fit must be one of '{there}' \(sequence 1\), got 'x'"):
        diagnose(tmp_path, fit="x")
    assert main(["report", str(tmp_path), "--fit", "x"]) == 2
    told = capsys.readouterr().err
    assert told == f"keras-perf report: fit must be one of '{there}' (sequence 1), got 'x'\n"


def test_a_sequence_that_two_have_asks_for_the_id(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.write.fit_of_process.names_in", lambda folder: ())
    for _ in range(2):
        write_fit(tmp_path, step_ms=4.0)
    with pytest.raises(UnknownFitError, match=r"fit '1' may be any of .*: give the id of one"):
        diagnose(tmp_path, fit=1)


def test_the_command_shows_a_fit_and_lists_all(tmp_path, capsys):
    write_fit(tmp_path, step_ms=4.0)
    write_unmeasured(tmp_path)
    assert main(["report", str(tmp_path), "--fit", "1"]) == 0
    assert "4.000" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--fits"]) == 0
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["run", "fit", "sequence"]
    assert [row.split()[-2:] for row in rows] == [["100", "yes"], ["0", "no"]]


def test_the_list_of_fits_is_a_frame(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    frame = list_fits(tmp_path)
    assert list(frame.columns) == (
        ["run", "fit", "sequence", "started", "host", "process", "program", "steps", "measured"]
    )
    assert frame["steps"].tolist() == [diagnose(tmp_path).summary.steps] == [100]
    assert frame["started"].dt.tz is not None


# -- at the same time --------------------------------------------------------------------


@pytest.mark.fault(3, "two processes at once in one directory")
@pytest.mark.parametrize(("process", "host", "told"), [(2, "one", 1), (1, "two", 1), (1, "one", 0)])
def test_two_processes_at_once_in_one_directory_are_both_named(
    tmp_path, monkeypatch, process, host, told
):
    pretend_process(monkeypatch, 1)
    first = write_between(tmp_path, 0.0, 100.0)
    pretend_process(monkeypatch, process, host)
    second = write_between(tmp_path, 50.0, 150.0)
    notes = [note for note in diagnose(tmp_path).notes if "at the same time" in note]
    assert len(notes) == told
    for note in notes:
        assert first.id in note
        assert second.id in note
        assert f"process {process} on {host}" in note
        assert "log_dir of its own" in note


def test_one_process_after_the_other_is_no_fault(tmp_path, monkeypatch):
    for process, begin in ((1, 0.0), (2, 200.0)):
        pretend_process(monkeypatch, process)
        write_between(tmp_path, begin, begin + 100)
    assert "at the same time" not in str(diagnose(tmp_path))


# -- several workers ---------------------------------------------------------------------


def test_with_an_older_fit_of_the_chief_come_the_workers_that_ran_beside_it(tmp_path):
    for begin in (0.0, 300.0):
        for number in (0, 1):
            write_between(tmp_path, begin + number, begin + 100, worker_run(number))
    chief, other = ([f.identity.id for f in fits] for fits in fits_of(tmp_path).values())
    from keras_perf.analyse.training import newest_training

    shown = {fit: newest_training(tmp_path, fit).workers for fit in chief}
    assert [[w.identity.id for w in shown[fit].values()] for fit in chief] == [
        [chief[0], other[0]],
        [chief[1], other[1]],
    ]


@pytest.mark.fault(3, "a restart of several workers that measured nothing")
def test_a_restart_that_measured_nothing_leaves_all_workers_where_they_were(tmp_path):
    for number in (0, 1):
        write_between(tmp_path, 0.0, 100.0, worker_run(number))
    for number in (0, 1):
        write_unmeasured(tmp_path, worker_run(number))
    assert [worker.steps for worker in diagnose(tmp_path).summary.workers] == [100, 100]


def test_a_worker_that_measured_no_step_is_in_no_table(tmp_path):
    write_between(tmp_path, 0.0, 100.0, worker_run(0))
    write_unmeasured(tmp_path, worker_run(1))
    assert [worker.number for worker in diagnose(tmp_path).summary.workers] == [0]


def test_of_many_fits_the_newest_are_named(tmp_path):
    write_between(tmp_path, 100.0, 200.0)
    newer = [write_unmeasured(tmp_path) for _ in range(9)]
    [note] = [note for note in diagnose(tmp_path).notes if note.startswith("Newer, but")]
    assert "not what is shown: 4 others, " in note
    assert [fit.id in note for fit in newer] == [False] * 4 + [True] * 5


def test_who_wrote_a_file_is_read_again_only_where_the_file_has_changed(tmp_path, monkeypatch):
    read = []
    first_events = fits.first_events
    monkeypatch.setattr(fits, "first_events", lambda path: read.append(path) or first_events(path))
    writer = RunWriter(str(tmp_path))
    writer.flush_now()
    for expected in (1, 1):
        assert fits_of(tmp_path)["perf"][0].identity == writer.fit
        assert len(read) == expected
    writer.scalars(2, {"host/cpu_pct": 10.0}, wall_time=50.0)
    writer.close()
    assert fits_of(tmp_path)["perf"][0].identity == writer.fit
    assert len(read) == 2


# -- a program that calls fit again and again --------------------------------------------


def write_fits(log_dir, begins_s, *, how="done", **settings):
    """Each of a hundred steps of 4 ms, and so many seconds after the first."""
    for begin_s in begins_s:
        writer = RunWriter(str(log_dir), clock=lambda at_s=1e9 + begin_s: at_s)
        for place in range(1, 11):
            values = {"perf/step_time_ms": 4.0, "perf/interval_steps": 10.0}
            writer.scalars(10 * place, values, wall_time=1e9 + begin_s + place / 100)
        known = {"first_step": 0, "last_step": 100, "epoch_steps": 100, "ending": {"how": how}}
        writer.context(100, facts_of(known | settings).to_json())
        writer.close()


def called_often(log_dir):
    return [note for note in diagnose(log_dir).notes if note.startswith("fit was called")]


SIX = [1.5 * number for number in range(6)]


def test_fits_that_begin_and_end_for_longer_than_they_step_are_told(tmp_path):
    write_fits(tmp_path, SIX)
    [note] = called_often(tmp_path)
    assert note.startswith(
        "fit was called 6 times, as a rule every 1.5 s, of which the 100 steps of one take 0.4 s: "
        "the rest is the beginning and the end of each, and what the program does in between."
    )


@pytest.mark.parametrize(
    ("begins_s", "settings"),
    [
        (SIX[:4], {}),
        ([begin_s / 2 for begin_s in SIX], {}),
        ([*SIX[:5], 60.0], {}),
        (SIX, {"driver": "loop"}),
        (SIX, {"how": "running"}),
        (SIX, between_epochs(8.0, steps=100)),
    ],
    ids=["few", "quick ones", "uneven", "a loop", "still running", "validation"],
)
def test_of_other_fits_none_is(begins_s, settings, tmp_path):
    write_fits(tmp_path, begins_s, **settings)
    assert called_often(tmp_path) == []


def test_the_steps_of_a_last_short_fit_are_not_held_against_the_others_time(tmp_path):
    write_fits(tmp_path, SIX[:5], last_step=200)
    write_fits(tmp_path, SIX[5:])
    assert called_often(tmp_path) == []


@pytest.mark.parametrize(("times", "told"), [(1, True), (100, False)])
def test_fits_that_cells_of_a_notebook_call_by_hand_are_no_loop(times, told, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_of_process, "program_name", lambda: "notebook")
    write_fits(tmp_path, [times * begin_s for begin_s in SIX])
    assert bool(called_often(tmp_path)) is told


def test_the_fits_of_several_programs_are_no_loop(tmp_path, monkeypatch):
    write_fits(tmp_path, SIX[:3])
    pretend_process(monkeypatch, 77)
    write_fits(tmp_path, SIX[3:])
    assert called_often(tmp_path) == []
