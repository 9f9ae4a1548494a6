"""What trials ask of the library that Keras computes with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import keras

from keras_perf.trials.backends.host_memory import TrainingMemory
from keras_perf.trials.learning_rate.losses import Losses

if TYPE_CHECKING:
    from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


class TrialBackend(Protocol):
    """A module of functions. A `batch` is what `first_batch` has returned."""

    # -- where the trial is asked for ------------------------------------------------------

    def check_data(self, data: Any) -> None:
        """Raises TypeError or ValueError unless batches can be taken of it."""

    def first_batch(self, data: Any) -> Any:
        """Of the data, which were checked; raises ValueError where there is none."""

    def examples(self, batch: Any) -> int:
        """Rows of a batch."""

    def build(self, model: keras.Model, batch: Any) -> None:
        """Makes the weights and the optimizer's variables, if nobody did, without training."""

    def check_alone(self, model: keras.Model) -> None:
        """Raises ValueError where the model is for several devices."""

    def check_room(self) -> None:
        """Raises ValueError where this process leaves others no memory on a GPU."""

    def save(self, batch: Any, place: str) -> None:
        """Writes a batch; raises what the library raises."""

    def program_settings(self) -> dict[str, Any]:
        """What the program has set in the library, as JSON takes it."""

    def step_ms_within(
        self, model: keras.Model, batch: Any, seconds: float, clock: Callable[[], float]
    ) -> float:
        """Milliseconds of a step on an element of a `tf.data.Dataset`; the model is put back."""

    def ramp(self, model: keras.Model, data: Any) -> AbstractContextManager[Callable[[], Losses]]:
        """Makes the steps of other learning rates; at its end the model is put back."""

    # -- in a process of its own -----------------------------------------------------------

    def set_as_program(self, settings: dict[str, Any]) -> None:
        """Sets what `program_settings` told, before the library starts its devices."""

    def only_so_much(self, limit_mib: float | None) -> None:
        """Gives the library this much of each GPU, where it can be told; before it starts these."""

    def load(self, place: str) -> Any:
        """A batch that was saved."""

    def tiled(self, batch: Any, batch_size: int) -> Any:
        """A batch of this size, of the examples of a smaller or larger one, again and again."""

    def execution(self, model: keras.Model, batch: Any) -> tuple[Callable[[], object], int]:
        """Trains on the batch and waits for the end, as often as it is called; its steps."""

    def prediction(self, model: keras.Model, batch: Any) -> Callable[[], object]:
        """Calls `predict_on_batch` on the batch's inputs as often as it is called."""

    def training_memory(self, limit_mib: float | None) -> TrainingMemory:
        """Of the first GPU if there is one, else of this process."""


class KeptTraining(Protocol):
    """What trials change of a training, as it was when this was made."""

    def also(self, function: Any, iterator: Any) -> None:
        """What this train function uses too, before it has run."""

    def put_back(self) -> None:
        """All of it, bit for bit; Ctrl-C meanwhile is answered when it is done."""


class TrainingBackend(Protocol):
    """A module of functions: how a whole training runs on trial. An `iterator` is of tf.data."""

    # -- the training as it is -------------------------------------------------------------

    def make_ready(self, model: keras.Model, graph: PipelineGraph) -> None:
        """Builds the model; raises ValueError where it cannot be trained on trial."""

    def scope(self, model: keras.Model) -> AbstractContextManager[object]:
        """In which a copy of the model is made."""

    def strategy(self, model: keras.Model) -> Any:
        """What shares each batch out among several replicas; None where there is one."""

    def on_gpu(self) -> bool:
        """Training may run on one."""

    def gpu_capability(self) -> tuple[int, ...] | None:
        """Compute capability of the first GPU; None where nobody tells."""

    def runs_eagerly(self) -> bool:
        """The program has set it for all functions, whatever a model has."""

    def waits(self, callbacks: Iterable[keras.callbacks.Callback]) -> bool:
        """Keras reads the logs of an execution before the next one, where these are called."""

    # -- the training in other ways --------------------------------------------------------

    def kept(self, model: keras.Model) -> KeptTraining:
        """Of a model that is ready, before trials."""

    def eager_only_if(self, run_eagerly: bool) -> AbstractContextManager[object]:
        """In which a training that is not to run eagerly does not, whatever the program has set."""

    def train_function(
        self,
        model: keras.Model,
        steps: int,
        iterator: Any,
        *,
        jit_compile: bool,
        run_eagerly: bool,
    ) -> Any:
        """The function that `fit` would call, of so many steps; the model is left as it was."""

    def require_several(
        self,
        model: keras.Model,
        function: Any,
        present: Callable[[], Any],
        iterator: Any,
        calls: int,
    ) -> None:
        """Raises LookupError or ValueError unless it trains as so many calls of the present one."""

    def executions(
        self, kept: Any, function: Any, model: keras.Model, steps: int, iterator: Any
    ) -> AbstractContextManager[Callable[[], Any]]:
        """In which each call is an execution, on the next batches, and returns its logs."""

    def read_logs(self, logs: Any) -> None:
        """Waits for the device."""

    # -- what can be changed ---------------------------------------------------------------

    def compiles_instead(self, jit_compile: bool) -> bool:
        """`jit_compile` of a training that runs eagerly no more, and had this one."""

    def why_no_several_steps(self) -> str:
        """Why no more steps are tried in an execution; "" where they are."""

    def why_no_environment(self) -> str:
        """Why no settings of the environment are tried; "" where they are."""
