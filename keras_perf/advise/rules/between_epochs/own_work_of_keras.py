"""What Keras itself does between epochs, and code that spares new iterators."""

from __future__ import annotations

from keras_perf.advise.as_written import batch_size
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.run.library import is_tuned, library_of
from keras_perf.records.run.run_facts import RunFacts

AGAIN = "dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n"

OR_UNTUNED = (
    "\n# or, in place of repeat(), without tuning, after which no end is waited for (nor does\n"
    "# keras_perf know the input wait; AUTOTUNE is a call for each core then, 16 at most):\n"
    "options = tf.data.Options()\n"
    "options.autotune.enabled = False\n"
    "dataset = dataset.with_options(options)"
)


def usual_ms(situation: Situation) -> float:
    """For each step, what of the rest comes back in each epoch; 0 where most of it does not.

    Nor where it is compiling, which JAX does for metrics, or a custom loop's own work.
    """
    known = situation.facts.outside
    if known is None or not known.rest_comes_back or situation.facts.settings.in_a_loop:
        return 0.0
    if known.epoch_compiling_s > known.epoch_rest_s / 2:
        return 0.0
    return situation.model.outside.get("epoch_rest", 0.0) - situation.model.once_between_ms


def iterators_ms(situation: Situation) -> float:
    """For each step, what new iterators take, where one for all epochs can be made."""
    facts, rest_ms = situation.facts, situation.model.outside.get("epoch_rest", 0.0)
    known, steps = facts.outside, facts.steps_before_gaps
    if known is None or not usual_ms(situation) or not known.usual_iterator_s or not steps:
        return 0.0
    of_arrays = facts.input.input_kind == "arrays" and library_of(facts).batches_by_tf_data
    repeats = "repeat" in facts.input.kinds and facts.length.ends_by_steps
    if repeats or not (situation.own_dataset or of_arrays):
        return 0.0
    # After the last epoch there is no other one to make.
    spent_ms = 1e3 * known.usual_iterator_s * (known.epoch_gaps - 1)
    return min(rest_ms, spent_ms / steps)


def ends_ms(situation: Situation) -> float:
    """For each step, what the ends of epochs' iterators are waited for."""
    facts, known = situation.facts, situation.facts.outside
    if known is None or not facts.steps_before_gaps or not is_tuned(facts, facts.input):
        return 0.0
    spent_ms = 1e3 * (known.usual_iterator_end_s or 0.0) * (known.epoch_gaps - 1)
    return spent_ms / facts.steps_before_gaps


def less_rest(model: StepModel, gone_ms: float) -> StepModel:
    """Of Keras's own work so much is gone for each step."""
    rest_ms = model.outside.get("epoch_rest", 0.0)
    return model.with_outside({"epoch_rest": max(0.0, 1 - gone_ms / max(1e-9, rest_ms))})


def of_arrays(facts: RunFacts) -> str:
    """Code that makes a dataset of them, by whole batches as Keras does; "" of others.

    `from_tensor_slices((x, y)).shuffle(rows).batch(1024)` took 1.6 ms a batch, this 0.3: it has no
    work for each example.
    """
    if facts.input.input_kind != "arrays" or not library_of(facts).batches_by_tf_data:
        return ""
    batch = batch_size(facts) or "batch_size"
    return (
        "# of the rows that fit trains on, without those of validation_split: x alone where there\n"
        "# is no y, sample weights as a third, and tuples in place of lists of arrays\n"
        "data = tf.nest.map_structure(tf.convert_to_tensor, (x, y))\n"
        "rows = len(tf.nest.flatten(data)[0])\n"
        "def a_pass(_):\n"
        "    order = tf.random.shuffle(tf.range(rows))  # tf.range alone where shuffle=False\n"
        f"    return tf.data.Dataset.from_tensors(order).rebatch({batch})\n"
        "def rows_at(places):\n"
        "    return tf.nest.map_structure(lambda each: tf.gather(each, places), data)\n"
        "dataset = tf.data.Dataset.range(1).flat_map(a_pass).map(rows_at)\n"
    )
