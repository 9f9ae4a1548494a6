"""A whole training on trial on Keras's JAX backend; see `TrainingBackend`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.backends.jax_memory import gpu_capability
from keras_perf.trials.backends.jax_state import SYNC, KeptState, give_to, restored, state_of
from keras_perf.trials.backends.jax_trial_steps import in_numpy, on_device
from keras_perf.trials.backends.jax_trials import check_alone
from keras_perf.trials.train_functions.build_on import build_on
from keras_perf.trials.train_functions.set_for_now import set_for_now

if TYPE_CHECKING:
    from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

__all__ = [
    "compiles_instead",
    "eager_only_if",
    "executions",
    "gpu_capability",
    "kept",
    "make_ready",
    "on_gpu",
    "read_logs",
    "require_several",
    "runs_eagerly",
    "scope",
    "strategy",
    "train_function",
    "waits",
    "why_no_environment",
    "why_no_several_steps",
]

AHEAD = 4
"""So many executions are under way at most. In `fit` only JAX's own limit, some 30, holds Keras
back; here a slice of time would end that much later."""

ENDS = ("on_train_batch_end", "on_batch_end")

REMAINDER = "PartialBatchList"
"""Keras's name of a list of batches that it has not stacked: too few, or of different shapes."""


def shares_executions() -> bool:
    """Keras has what stacks batches for a compiled execution, as releases from 3.16 on have.

    Its number does not tell: development versions have called themselves 3.16.0 without.
    """
    try:
        from keras.src.trainers.data_adapters import data_adapter_utils
    except ImportError:
        return False
    return hasattr(data_adapter_utils, REMAINDER)


def make_ready(model: keras.Model, graph: PipelineGraph) -> None:
    """For one device, and batches that come one by one."""
    check_alone(model)
    if shares_executions() and model.steps_per_execution > 1:
        raise ValueError(
            "model must run one step per execution to be tried on JAX with this Keras, which "
            f"stacks their batches, got {model.steps_per_execution}. Compile it with "
            "steps_per_execution=1 for the trial."
        )
    build_on(model, lambda: in_numpy(next(iter(graph.dataset()))))


def scope(model: keras.Model) -> AbstractContextManager[object]:
    """None is needed."""
    return nullcontext()


def strategy(model: keras.Model) -> None:
    """It is for one device."""


def on_gpu() -> bool:
    """Keras tells the devices that JAX has."""
    return any("gpu" in each for each in keras.distribution.list_devices())


def runs_eagerly() -> bool:
    """JAX has no such setting for models that are compiled."""
    return False


def waits(callbacks: Iterable[keras.callbacks.Callback]) -> bool:
    """Where one of them has a hook behind each batch, and no `async_safe`."""
    return any(map(_is_waited_for, callbacks))


def _is_waited_for(callback: keras.callbacks.Callback) -> bool:
    def its_own(hook: str) -> bool:
        usual = getattr(keras.callbacks.Callback, hook)
        return getattr(getattr(callback, hook), "__func__", None) is not usual

    return not getattr(callback, "async_safe", False) and any(map(its_own, ENDS))


def kept(model: keras.Model) -> KeptState:
    """All that a step is given."""
    return KeptState(model)


def eager_only_if(run_eagerly: bool) -> AbstractContextManager[object]:
    """The train function is made so."""
    return nullcontext()


def train_function(
    model: keras.Model, steps: int, iterator: Any, *, jit_compile: bool, run_eagerly: bool
) -> Any:
    """Keras's, which the model may have already."""
    _make_metrics(model, in_numpy(next(iterator)))
    found, wanted = model.train_function, {"steps_per_execution": steps}
    wanted |= {"jit_compile": jit_compile, "run_eagerly": run_eagerly}
    as_it_is = all(getattr(model, name) == value for name, value in wanted.items())
    if as_it_is and getattr(found, "__module__", "").startswith("keras."):
        return found
    with set_for_now(model, wanted):
        try:
            model.make_train_function(force=True)
            return model.train_function
        finally:
            model.train_function = found


def _make_metrics(model: keras.Model, batch: Any) -> None:
    """Their variables, which Keras's own functions make before a first step; none is trained."""
    with restored(model), _handing_back(model, lambda: None):
        model.train_function = lambda state, _: ({}, state)
        model.train_on_batch(*keras.utils.unpack_x_y_sample_weight(batch), return_dict=True)


@contextmanager
def _handing_back(model: keras.Model, hand_back: Callable[[], None]) -> Iterator[None]:
    """Who asks Keras for the model's variables in the middle of an epoch asks this instead."""
    own = vars(model).get(SYNC)
    try:
        vars(model)[SYNC] = hand_back
        yield
    finally:
        vars(model).pop(SYNC, None)
        if own is not None:
            vars(model)[SYNC] = own


def require_several(
    model: keras.Model,
    function: Any,
    present: Callable[[], Any],
    iterator: Any,
    calls: int,
) -> None:
    """The steps of an execution run one by one."""


@contextmanager
def executions(
    kept: KeptState, function: Any, model: keras.Model, steps: int, iterator: Any
) -> Iterator[Callable[[], Any]]:
    """As in an epoch: between the steps the train function has the values of the variables.

    At the end the variables have them; after an exception, those that were kept.
    """
    running = _Executions(function, model, _batches(iterator))
    try:
        # Keras's loop over the steps of an execution asks the model for their number.
        asked = set_for_now(model, {"steps_per_execution": steps})
        with asked, _handing_back(model, running.hand_back):
            yield running
        with uninterrupted():
            running.hand_back()
    except BaseException:
        kept.put_values_back()
        raise


class _Executions:
    """Calls Keras's train function with the state that it returned before."""

    def __init__(self, function: Any, model: keras.Model, batches: Iterator[Any]) -> None:
        self._function, self._model, self._batches = function, model, batches
        self._state: Any = None
        self._under_way: deque[Any] = deque()

    def __call__(self) -> Any:
        if len(self._under_way) == AHEAD:
            read_logs(self._under_way.popleft())
        state, self._state = self._state or state_of(self._model), None
        logs, self._state = self._function(state, self._batches)
        self._under_way.append(logs)
        return logs

    def hand_back(self) -> None:
        """Whoever reads the model finds what was trained, and the next step what they changed."""
        state, self._state = self._state, None
        if state is not None:
            give_to(self._model, state)


def _batches(iterator: Any) -> Iterator[Any]:
    """As Keras fetches them: on all but CPUs one ahead."""
    arrays = map(in_numpy, iterator)
    return _one_ahead(map(on_device, arrays)) if on_gpu() else arrays


def _one_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    ahead = next(batches)
    for batch in batches:
        yield ahead
        ahead = batch
    yield ahead


def read_logs(logs: Any) -> None:
    """Of the last of several executions is enough: they come one after the other."""
    for value in keras.tree.flatten(logs):
        np.asarray(value)


def compiles_instead(jit_compile: bool) -> bool:
    """Without XLA each operation would run from Python all the same."""
    return True


def why_no_several_steps() -> str:
    """Keras 3.16 on stacks their batches."""
    return WhyNotTried.STEPS_ON_JAX.of() if shares_executions() else ""


def why_no_environment() -> str:
    """Those that are known are TensorFlow's."""
    return WhyNotTried.ENVIRONMENT_ON_JAX.of()
