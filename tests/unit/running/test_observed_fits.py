"""Each fit of a program gets callbacks, on a Keras that stands in for the real one."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from keras_perf.records.run_names import RUN
from keras_perf.running import fits as module
from keras_perf.running.fits import MANY_FITS, ObservedFits
from keras_perf.running.keras_import import WhenKerasIsImported
from keras_perf.running.numbered_directories import NumberedDirectories
from keras_perf.running.options import Options, steps_of


class CallbackList:
    def __init__(self, callbacks):
        self.callbacks, self.params = list(callbacks), {}


class Ours:
    """One of our callbacks, as far as it matters here."""

    observation = None

    def __init__(self):
        self.model = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params


def keras_like(backend="tensorflow"):
    class Trainer:
        def fit(self, x=None, epochs=1, callbacks=None):
            """Trains."""
            if isinstance(callbacks, CallbackList):
                self.seen = list(callbacks.callbacks)
            else:
                self.seen = callbacks if callbacks is None else flatten(callbacks)
                self.given = type(callbacks)
            if callable(x):
                x(self)
            return x

    class Model(Trainer):
        pass

    def flatten(given):
        given = [*given.values()] if type(given) is dict else given
        return [each for g in given for each in flatten(g)] if type(given) is list else [given]

    keras = ModuleType("keras")
    keras.Model, keras.Trainer = Model, Trainer
    keras.callbacks = SimpleNamespace(CallbackList=CallbackList)
    keras.tree = SimpleNamespace(flatten=flatten)
    keras.config = SimpleNamespace(backend=lambda: backend)
    return keras


@pytest.fixture
def watched(tmp_path, monkeypatch):
    said = []
    fits = ObservedFits(Options(str(tmp_path / "logs")), said.append)
    made = []

    def callbacks(log_dir):
        made.append(log_dir)
        return [Ours()]

    monkeypatch.setattr(fits, "_callbacks", callbacks)
    keras = keras_like()
    fits.install(keras)
    return SimpleNamespace(fits=fits, keras=keras, said=said, made=made, folder=tmp_path / "logs")


def test_each_fit_has_a_directory_of_its_own_after_those_that_are_there(watched):
    (watched.folder / "fit_9").mkdir(parents=True)
    for _ in range(2):
        watched.keras.Model().fit("data")
    assert [os.path.basename(each) for each in watched.made] == ["fit_10", "fit_11"]
    assert [each.log_dir for each in watched.fits.ended] == watched.made
    # Nothing was written there.
    assert [each.name for each in watched.folder.iterdir()] == ["fit_9"]


@pytest.mark.parametrize("given", [None, [], (), ["theirs"], ("theirs",), "theirs"])
def test_the_programs_callbacks_come_first_and_its_list_is_not_touched(watched, given):
    model = watched.keras.Model()
    before = list(given) if isinstance(given, list) else given
    assert model.fit("data", 3, given) == "data"
    *theirs, ours = model.seen
    assert theirs == (["theirs"] if given else [])
    assert isinstance(ours, Ours)
    assert given == before
    # Of what is a list Keras asks whether its callbacks may be called late.
    assert issubclass(model.given, list) == (given != "theirs")


def test_a_list_of_keras_s_is_as_it_was_afterwards(watched):
    model, theirs = watched.keras.Model(), CallbackList(["theirs"])
    model.fit("data", callbacks=theirs)
    assert isinstance(model.seen[1], Ours)
    assert model.seen[1].model is model
    assert theirs.callbacks == ["theirs"]


def test_a_fit_inside_a_fit_is_left_alone_and_one_in_another_thread_is_not(watched):
    inner, other = watched.keras.Model(), watched.keras.Model()

    def both(_):
        inner.fit("data")
        thread = threading.Thread(target=other.fit, args=("data",))
        thread.start()
        thread.join()

    watched.keras.Model().fit(both)
    assert inner.seen is None
    assert isinstance(other.seen[0], Ours)
    assert len(watched.made) == 2


def test_a_fit_of_a_class_of_the_programs_own_is_observed_where_it_calls_keras_s(watched):
    class Mine(watched.keras.Model):
        def fit(self, data):
            return super().fit(data, epochs=2), super().fit(data)

    assert Mine().fit("data") == ("data", "data")
    assert len(watched.made) == 2


def test_what_fit_raises_comes_through_and_the_next_one_is_observed(watched):
    def raises(_):
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            watched.keras.Model().fit(raises)
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        watched.keras.Model().fit("data", epoch=1)
    assert len(watched.made) == 2


@pytest.mark.parametrize("error", [OSError("no space"), TypeError("no float")])
def test_our_own_failure_leaves_fit_as_it_is(watched, monkeypatch, error):
    def fails(_):
        raise error

    monkeypatch.setattr(watched.fits, "_callbacks", fails)
    model = watched.keras.Model()
    for _ in range(2):
        model.fit("data")
    assert model.seen is None
    assert watched.said == [f"a fit is not observed: {type(error).__name__}: {error}."]
    assert not watched.folder.exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_fit_that_wrote_nothing_leaves_no_folder_that_was_not_there(tmp_path, there):
    logs = tmp_path / "logs"
    if there:
        logs.mkdir()
    directories = NumberedDirectories(str(logs / "program"), "fit")
    empty, full = Path(directories.next()), Path(directories.next())
    (empty / RUN).mkdir()
    (full / RUN).mkdir()
    (full / RUN / "events").touch()
    directories.leave_no_empty(str(empty))
    directories.leave_no_empty(str(full))
    assert list((logs / "program").iterdir()) == [full]
    (full / RUN / "events").unlink()
    directories.leave_no_empty(str(full))
    assert sorted(tmp_path.rglob("*")) == ([logs] if there else [])


def test_a_program_with_callbacks_of_ours_is_left_alone(watched, monkeypatch):
    name = "keras_perf.callbacks.observing_callback"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(ObservingCallback=Ours))
    theirs, model = Ours(), watched.keras.Model()
    model.fit("data", callbacks=[["other", theirs]])
    model.fit("data", callbacks=CallbackList([theirs]))
    assert (watched.made, watched.fits.left_alone) == ([], 2)


def test_another_backend_is_told_once_and_runs_unobserved(tmp_path):
    said = []
    fits, keras = ObservedFits(Options(str(tmp_path)), said.append), keras_like("torch")
    fits.install(keras)
    model = keras.Model()
    model.fit("data")
    model.fit("data")
    assert model.seen is None
    assert len(said) == 1
    assert "Keras runs on torch" in said[0]


def test_of_very_many_short_fits_the_first_are_observed(watched, monkeypatch):
    for _ in range(MANY_FITS + 5):
        watched.keras.Model().fit("data")
    assert len(watched.made) == MANY_FITS
    # The mean counts: one of them may have been long.
    why = f"the first {MANY_FITS} took less than 10 s on average"
    assert watched.fits.not_observed == {why: 5}
    monkeypatch.setattr(module, "SHORT_FIT_S", 0.0)
    watched.keras.Model().fit("data")
    assert len(watched.made) == MANY_FITS + 1


def test_workers_of_one_training_write_to_the_same_directories(watched, monkeypatch):
    config = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'
    monkeypatch.setenv("TF_CONFIG", config)
    (watched.folder / "fit_1").mkdir(parents=True)
    watched.keras.Model().fit("data")
    assert [os.path.basename(each) for each in watched.made] == ["fit_1"]


def test_nothing_stays_when_it_is_removed(watched):
    assert watched.keras.Model.fit.__doc__ == "Trains."
    watched.fits.remove()
    assert "fit" not in vars(watched.keras.Model)
    watched.keras.Model().fit("data")
    assert watched.made == []


def test_another_s_fit_in_place_of_ours_stays(watched):
    watched.keras.Model.fit = theirs = lambda self: None
    watched.fits.remove()
    assert watched.keras.Model.fit is theirs


def test_a_fit_that_another_s_calls_runs_as_it_is_after_the_end(watched):
    ours = watched.keras.Model.fit
    watched.keras.Model.fit = lambda *given: ours(*given)
    watched.fits.remove()
    assert watched.keras.Model().fit("data") == "data"
    assert watched.made == watched.said == []


def test_a_fit_that_another_library_had_put_there_is_put_back(watched):
    watched.fits.remove()
    watched.keras.Model.fit = theirs = lambda self, *given: ("theirs", *given)
    watched.fits.install(watched.keras)
    assert watched.keras.Model.fit is not theirs
    watched.fits.remove()
    assert watched.keras.Model.fit is theirs


@pytest.mark.timeout(20)
def test_a_link_that_leads_nowhere_is_no_log_directory(watched):
    watched.folder.symlink_to("missing")
    assert watched.keras.Model().fit("data") == "data"
    [line] = watched.said
    assert "FileExistsError" in line


@pytest.fixture
def a_keras_to_import(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield tmp_path / "keras.py"
    sys.modules.pop("keras", None)
    assert sys.meta_path == before


def test_keras_is_told_of_when_it_has_been_imported_and_nothing_stays(a_keras_to_import):
    import importlib.util

    a_keras_to_import.write_text("Model = 1\n")
    found = []
    WhenKerasIsImported(lambda keras: found.append(keras.Model))
    # A program may only look whether it is there.
    assert importlib.util.find_spec("keras") is not None
    assert found == []
    import keras

    assert found == [1]
    assert "exec_module" not in vars(keras.__spec__.loader)


def test_a_keras_that_cannot_be_imported_is_told_of_when_it_can(a_keras_to_import):
    a_keras_to_import.write_text("import no_backend\n")
    found = []
    waiting = WhenKerasIsImported(found.append)
    with pytest.raises(ModuleNotFoundError, match="no_backend"):
        import keras
    a_keras_to_import.write_text("Model = 12345\n")
    import keras

    assert found == [keras]
    waiting.remove()


def test_a_keras_that_is_there_is_told_of_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", keras := ModuleType("keras"))
    found = []
    WhenKerasIsImported(found.append).remove()
    assert found == [keras]


@pytest.mark.parametrize("text", ["", "5", "5:", ":5", "5:5", "7:5", "-1:5", "a:b", "1:2:3"])
def test_steps_that_name_none_are_refused(text):
    with pytest.raises(ValueError, match="profile-steps"):
        steps_of(text)


def test_steps_are_those_that_the_profiler_captures():
    options = Options("logs", profile_steps=steps_of("100:120"), gpu=False, quiet=True)
    assert options.of_callbacks == {
        "gpu": False,
        "try_advice": False,
        "profiler": {"skip_first": 100, "warmup_steps": 0, "active_steps": 20},
        "summary": False,
    }
