"""The diagnosis of programs whose bottleneck is known."""

import inspect
from statistics import mean

import bottlenecks
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.cpu_share import crowded as others_use_the_cpus
from keras_perf.records.interval import PARTS

FOUND = 0.7
"""Of the injected time so much must be found where it was put."""

NO_MORE = 1.5
"""So many times what was injected, as it was measured where it was, may be found there at most."""

NOT_ON_JAX = {
    "train_function_made_anew": "JAX's train function cannot be made anew within an epoch",
    "tiny_model": "no other number of steps per execution is tried there",
    "predicts_one_by_one": "how much of a call is predict's own is not known there",
    "garbage_storm": "the hook's own work is more of its time there: to do it rarely gains more",
}
"""Programs for which there is nothing to find on JAX, and why."""

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(
        not hasattr(tf.data.experimental, "get_model_proto"),
        reason="this TensorFlow does not tell tf.data's gap times",
    ),
    # Keras warns whenever data end whose length it did not know.
    pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning"),
]


def here():
    """Those that can be told with this backend."""
    left_out = {} if bottlenecks.ON_TENSORFLOW else NOT_ON_JAX
    return [each for each in bottlenecks.SCENARIOS if each.name not in left_out]


def ms_of(scenario):
    """What it waits for each time, where a machine is quick."""
    return inspect.signature(scenario.train).parameters["ms"].default


def stretched(scenario):
    """How many times as long the scenario's waits are, so that they outlast any machine's steps."""
    if not scenario.by_the_clock:
        return 1.0
    # A prefetched wait of four such steps still shows more than is asked for in `bounds`.
    outlasts_pauses = 4 * bottlenecks.paused_step_ms() * scenario.at_a_time / ms_of(scenario)
    return max(1.0, bottlenecks.usual_step_ms(), outlasts_pauses)


def complaint(scenario, log_dir):
    """What is wrong with the diagnosis of one training; "" if nothing."""
    bottlenecks.steps_are_measured_anew()
    bottlenecks.INJECTED.clear()
    bottlenecks.MEASURED.clear()
    arguments = {}
    if scenario.by_the_clock:
        arguments["ms"] = ms_of(scenario) * stretched(scenario)
    profiler = {"active_steps": 8} if scenario.traced else False
    scenario.train(kp.perf_callbacks(log_dir, profiler=profiler), **arguments)
    found = kp.diagnose(log_dir)
    # On JAX a stopwatch in a batch hook has training wait for each step, and is told so.
    told_to_us = ("async-callback",) if bottlenecks.MEASURED else ()
    advised = [each.id for each in found.recommendations if each.id not in told_to_us]
    wrong = []
    crowded = scenario.needs_cores and not bottlenecks.has_spare_cores(found)
    # Where the verdict cannot be told, that has to be said.
    blames_others = "Train again without them." in found.explanation
    computes = "compute-bound" in scenario.verdicts
    slowed = computes and blames_others and others_use_the_cpus(found.summary)
    unsure = ("inconclusive",) if slowed or (crowded and scenario.told_on_idle_cores) else ()
    if found.verdict not in (*scenario.verdicts, *unsure):
        wrong.append(f"the verdict is {found.verdict}")
    right = [] if scenario.top is None else [scenario.top]
    if advised[:1] != right and not (crowded and not advised):
        wrong.append(f"the first advice is {advised[:1]}")
    if set(advised) & set(scenario.never):
        wrong.append(f"among the advice is one of {scenario.never}")
    wrong += misplaced(scenario, found)
    return f"{', '.join(wrong)}:\n{found}" if wrong else ""


def misplaced(scenario, found):
    """What was injected, and is not found where it was put, or more than that."""
    if scenario.part is None:
        return []
    measured = {**found.summary.parts, "step": found.summary.step_ms, **found.summary.outside}
    parts = dict.fromkeys(PARTS, 0.0) | measured
    wrong = []
    elsewhere = scenario.told_on_idle_cores
    set_by_us = scenario.by_the_clock and scenario.injected_ms
    if scenario.part in PARTS and not set_by_us and not elsewhere:
        # Beside long computation a callback or compiling is only the largest of the rest.
        rivals = [part for part in PARTS if part != "compute" or scenario.part == "input_wait"]
        largest = max({*rivals, scenario.part}, key=lambda part: parts[part])
        wrong += [f"the largest part is {largest}"] if largest != scenario.part else []
    least, most = bounds(scenario)
    if not (0.0 if elsewhere else least) <= parts[scenario.part] <= most:
        wrong.append(f"{scenario.part} is not between {least:.2f} and {most:.2f} ms")
    return wrong


def bounds(scenario):
    """Milliseconds of which fewer, and more, may not be found."""
    if bottlenecks.MEASURED:
        injected = measured = mean(bottlenecks.MEASURED)
    else:
        injected = scenario.injected_ms * stretched(scenario) / scenario.at_a_time
        measured = injected * mean(bottlenecks.INJECTED)
    # What a step does besides hides as much of the input's work where batches are prefetched.
    # It is not taken from these figures: a wait that is reported too short would make it longer.
    hides = scenario.part == "input_wait" and not scenario.all_seen
    hidden = bottlenecks.usual_step_ms() if hides else 0.0
    wider = 2 if scenario.measured_apart else 1
    return FOUND**wider * (injected - hidden), NO_MORE**wider * measured


@pytest.mark.parametrize("scenario", here(), ids=lambda scenario: scenario.name)
def test_the_bottleneck_is_found(scenario, tmp_path):
    wrong = complaint(scenario, tmp_path)
    assert not wrong, wrong
