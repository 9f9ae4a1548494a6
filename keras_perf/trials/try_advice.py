"""All advice that a machine can follow, tried on the training itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import keras

from keras_perf.records.arguments import existing_directory, require_bool, require_number
from keras_perf.records.text.without_tensorflow import NEEDED
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.compiled import require_compiled
from keras_perf.trials.environment.settings import named_settings
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.trials.rewriting.allowed import Allowed

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_perf.trials.training.tried_advice import TriedAdvice

ON_DATASETS = f"keras_perf: try_advice trains on a tf.data.Dataset, on JAX too, and so {NEEDED}"


def try_advice(
    model: keras.Model,
    dataset: tf.data.Dataset,
    *,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    any_order: bool = False,
    any_random_numbers: bool = False,
    budget_s: float = 30.0,
    environment_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> TriedAdvice:
    """Measures what changes of a training would gain, on the training itself.

    First the training as it is beside steps on a ready batch, and the input alone. Then real
    training steps with each change, in turn with the training as it is: the changes of the input
    that `tune_input` knows, XLA on or off, eager mode off, several steps per execution, Python's
    garbage collector, each of `callbacks` left out, larger batches, another precision, batches
    padded to few lengths. Those that pay and leave training as it is are put together, the best
    first, each measured on top of those before, and all of it beside the training as it was.

    Model, optimizer, metrics, seeds and what else the train function changes are put back as they
    were, bit for bit, also after an exception or Ctrl-C, which ends the trials. The dataset is not
    iterated: copies of it are.

    Returns:
        A `TriedAdvice`: `.changes`, `.best`, `.gain`, `.dataset`, `.to_frame()`; print it.

    Arguments:
        model: compiled; it is built if it is not.
        dataset: batches, as given to `fit`.
        callbacks: made for this trial: their hooks are called as in an epoch of `fit`, on the
            model that trains on trial, and nothing that they do is undone. Those of `keras_perf`
            are left out.
        any_order: the order of examples may change from run to run.
        any_random_numbers: an example may get other random numbers, from the same distributions,
            so that maps that draw them, as augmentation does, can run in parallel.
        budget_s: seconds to spend at most. What would take longer than what is left is not begun:
            XLA, say, where compiling takes too long, estimated from what tracing took.
        environment_s: seconds more for what is set before Python starts: threads of TensorFlow's
            pools, oneDNN, threads for a GPU's kernels. Each is tried in a process of its own that
            trains in turn with one without it, as `sweep_batch_size` does; starting them takes
            most of the time. None tries nothing of it.
        environment: variables of your own to try in the same way, before those, each alone:
            `{"LD_PRELOAD": "/usr/lib/libtcmalloc.so"}`.
        cache_dir: an existing directory, where a cache may keep what does not fit into half of the
            free memory. What is kept stays there, for the dataset returned and the code shown.
        log_dir: of the callbacks: the result is written there. Of the training that the directory
            holds the diagnosis then shows what was measured in place of what it would predict, as
            after `AdviceTester`; beside one that follows it is shown as tried before. None writes
            nothing.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`, `callbacks` are no sequence of callbacks,
            `log_dir` is no path, or `environment` no dict of str.
        ValueError: it is not batched, cannot be written as a graph, uses a variable in a map, or
            keeps a cache in a file; the model is not compiled, trains on several workers, or on
            several replicas of which Python makes the batches, or its train step writes summaries
            or files, changes a table or a queue, or takes from an iterator of its own; a number is
            not above 0, `cache_dir` is no directory, or `environment` comes without
            `environment_s`.
        OSError: `log_dir` cannot be written.
        NotImplementedError: Keras computes with neither TensorFlow nor JAX.
        ImportError: TensorFlow is not installed.

    What it cannot see: Keras's loop around the steps; state that a train step keeps in Python, or
    what it prints or does in Python, which is not put back, nor what a generator takes from an
    iterator that it does not make itself, nor, with `run_eagerly`, what else a step leaves behind:
    files, summaries, tables, variables that it makes on trial, how far `tf.random` has drawn; what
    a change does to what is learned. The model's code is traced again for another way to compile
    it, and functions of the dataset's maps are called.

    >>> import keras_perf as kp
    >>> tried = kp.try_advice(model, dataset)  # then: model.fit(tried.dataset)
    """
    training_backend()
    require_compiled(model)
    try:
        from keras_perf.trials.arguments import check_dataset
        from keras_perf.trials.trying import tried_advice
    except ImportError as error:
        raise ImportError(ON_DATASETS) from error
    check_dataset(dataset)
    budget_s = require_number("budget_s", budget_s, above=0, remedy="The default is 30.0.")
    if environment_s is not None:
        remedy = "None tries nothing of it."
        environment_s = require_number("environment_s", environment_s, above=0, remedy=remedy)
    allowed = Allowed(
        order=require_bool("any_order", any_order),
        random_numbers=require_bool("any_random_numbers", any_random_numbers),
    )
    named = named_settings(environment, environment_s)
    folder = existing_directory("cache_dir", cache_dir)
    own, run = _own(callbacks), KeptInRun(log_dir)
    found = tried_advice(
        model,
        dataset,
        callbacks=own,
        allowed=allowed,
        budget_s=budget_s,
        environment_s=environment_s,
        named=named,
        cache_dir=folder,
    )
    run.keep({"advice_trials": found.trials})
    return found


def _own(callbacks: object) -> tuple[keras.callbacks.Callback, ...]:
    """The user's: ours would observe the trial as a training.

    Raises:
        TypeError: something else is there than callbacks.
    """
    kind = keras.callbacks.Callback
    if not isinstance(callbacks, Sequence) or not all(isinstance(c, kind) for c in callbacks):
        raise TypeError(
            f"callbacks must be a list of keras.callbacks.Callback, got {callbacks!r}. Leave it "
            "out where there are none."
        )
    return tuple(each for each in callbacks if not getattr(each, "observes_training", False))
