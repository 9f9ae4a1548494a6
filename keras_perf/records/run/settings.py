"""How a model is trained, as one of the records of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.records.run.machine import MACHINES
from keras_perf.records.shapes import count, each, fact, flag, named, number, text

TRAIN_ON_BATCH, SAMPLE_GPUS = "train_on_batch", "sample_gpus"
LEARNING_RATE, LOGS = "learning_rate", "logs"

PYTHON_OPERATIONS = {
    "EagerPyFunc": "tf.py_function",
    "PyFunc": "tf.numpy_function",
    "PyFuncStateless": "tf.numpy_function",
}
"""Operations that call Python, which XLA does not compile, and what makes them."""

DEFAULT_STRATEGY = "_DefaultDistributionStrategy"
"""Where nobody has chosen one."""


@dataclass(frozen=True)
class Settings:
    """How the model is trained.

    `driver` is `loop` for a custom loop, `train_on_batch` where each step had an iterator of its
    own, and no step was observed, `sample_gpus` where nothing else was on. `batch_hooks` are the
    user's hooks that are called in every batch, `once_an_epoch` those of them that are set to do
    their work then, `steering_hooks` what hooks of batches and epochs set on which later steps
    depend, such as `learning_rate`.
    `function_replacements` counts how often a callback made the train function anew,
    `function_traces` how often it was traced, or compiled where only that is told.
    `tries_steps` is False where no training can try other numbers of steps per execution, and
    `compiles_executions` True where Keras on JAX makes one call of the steps of an execution.
    `run_eagerly` is True where Python runs a step's operations, on JAX without XLA too,
    `eager_functions` where it runs those of every `tf.function`. With `fetches_outside` a loop
    fetches its batches outside of the calls that are timed, with `fetches_rarely` in some of them;
    `fetches_per_step` is how often it asks for an element in a step. `operations_in_step` are types
    of operations in it that print, check values or call Python. With `own_compile` the model's
    class has a `compile` that does not take what Keras's takes, with `own_train_step` a
    `train_step` that is not Keras's. `supports_jit` is False where Keras
    does not let XLA compile: a layer says that it cannot, or operations are deterministic.
    `waiting_hooks` are those for which training waits for each step's result, `late_hooks` those of
    them that may be called late, `late_hooks_s` for how long others ran in Keras's threads, and
    `state_reads` how often a `Class.hook` had the model's state handed back to it within an epoch,
    on JAX, which took `state_reads_s` in all. `call_ms` is what the train function's call takes of
    a step, there, while the device has nothing else to do, less the wait for a batch: entering and
    leaving it costs no more.
    `output_widths` are the last axes of the model's outputs, `layer_widths` units and filters,
    `optimizer_values` the numbers that the optimizer keeps beside the parameters;
    `batches_per_update` are those whose gradients it gathers (`gradient_accumulation_steps`).
    `frozen_in_front` counts the parameters of layers that stand before all that is trained and all
    that draws random numbers.
    `histogram_freq` is a TensorBoard callback's, 0 where it writes none.
    `validation_steps` are those that `fit` was told. `worker` is this one's number among `workers`.
    `collector_threshold` is how many new objects Python's garbage collector waits for; 0 where it
    is off.
    """

    driver: str = fact(text, "fit")
    steps_per_execution: int = fact(count(1, 1e9), 1)
    tries_steps: bool = fact(flag, default=True)
    compiles_executions: bool = fact(flag, default=False)
    unrolled_steps_per_execution: int = fact(count(1, 1e9), 1)
    operations_in_step: tuple[str, ...] = fact(each(text), ())
    run_eagerly: bool = fact(flag, default=False)
    eager_functions: bool = fact(flag, default=False)
    fetches_outside: bool = fact(flag, default=False)
    fetches_rarely: bool = fact(flag, default=False)
    fetches_per_step: float = fact(number(1e-9), 1.0)
    jit_compile: bool | None = fact(flag)
    supports_jit: bool = fact(flag, default=True)
    optimizer: str | None = fact(text)
    own_compile: bool = fact(flag, default=False)
    own_train_step: bool = fact(flag, default=False)
    strategy: str | None = fact(text)
    replicas: int = fact(count(1, MACHINES), 1)
    function_replacements: int = fact(count(), 0)
    function_traces: int | None = fact(count())
    batch_hooks: tuple[str, ...] = fact(each(text), ())
    histogram_freq: int = fact(count(), 0)
    once_an_epoch: tuple[str, ...] = fact(each(text), ())
    steering_hooks: Mapping[str, str] = fact(named(text), {})
    collector_threshold: int | None = fact(count())
    waiting_hooks: tuple[str, ...] = fact(each(text), ())
    late_hooks: tuple[str, ...] = fact(each(text), ())
    late_hooks_s: Mapping[str, float] = fact(named(number()), {})
    state_reads: Mapping[str, int] = fact(named(count()), {})
    state_reads_s: Mapping[str, float] = fact(named(number()), {})
    call_ms: float | None = fact(number())
    validation_steps: int | None = fact(count())
    dtype_policy: str | None = fact(text)
    parameters: int | None = fact(count())
    trainable_parameters: int | None = fact(count())
    optimizer_values: int | None = fact(count())
    batches_per_update: int = fact(count(1), 1)
    frozen_in_front: int = fact(count(), 0)
    float16_softmax: bool = fact(flag, default=False)
    layer_widths: tuple[int, ...] = fact(each(count()), ())
    output_widths: tuple[int, ...] = fact(each(count()), ())
    worker: int | None = fact(count(0, MACHINES))
    workers: int = fact(count(0, MACHINES), 0)

    @property
    def may_use_xla(self) -> bool:
        """XLA does not compile the steps as far as is known, and could.

        Keras keeps steps of several replicas from it.
        """
        by_python = self.run_eagerly or self.eager_functions
        keras_asks_for_it = self.supports_jit and self.replicas == 1
        return not (self.jit_compile or by_python) and (self.in_a_loop or keras_asks_for_it)

    @property
    def several_in_fit(self) -> bool:
        """Keras's `fit` trains several replicas, under which some of what Keras has fails."""
        return self.replicas > 1 and not self.in_a_loop

    @property
    def can_be_swept(self) -> bool:
        """`sweep_batch_size` takes such a model."""
        alone = self.replicas == 1 and self.strategy != "ModelParallel"
        return alone and not self.in_a_loop

    @property
    def in_a_loop(self) -> bool:
        """The training is a custom loop, not Keras's `fit`."""
        return self.driver == "loop"
