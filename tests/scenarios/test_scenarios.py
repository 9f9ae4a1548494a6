"""The diagnosis of programs whose bottleneck is known."""

import bottlenecks
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.records.interval import PARTS

FOUND = 0.7
"""Of the injected time so much must be found where it was put."""

NO_MORE = 1.5
"""So many times what was injected, as it was measured where it was, may be found there at most."""

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(
        not hasattr(tf.data.experimental, "get_model_proto"),
        reason="this TensorFlow does not tell tf.data's gap times",
    ),
    # Keras warns whenever data end whose length it did not know.
    pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning"),
]


def complaint(scenario, log_dir):
    """What is wrong with the diagnosis of one training, or None."""
    bottlenecks.INJECTED.clear()
    scenario.train(kp.perf_callbacks(log_dir, profiler=scenario.traced), False)
    found = kp.diagnose(log_dir)
    advised = [advice.id for advice in found.recommendations]
    wrong = []
    if found.verdict not in scenario.verdicts:
        wrong.append(f"the verdict is {found.verdict}")
    if advised[:1] != ([] if scenario.top is None else [scenario.top]):
        wrong.append(f"the first advice is {advised[:1]}")
    if set(advised) & set(scenario.never):
        wrong.append(f"among the advice is one of {scenario.never}")
    wrong += misplaced(scenario, found)
    return f"{', '.join(wrong)}:\n{found}" if wrong else None


def misplaced(scenario, found):
    """What was injected, and is not found where it was put."""
    parts = {**found.breakdown, **found.summary.outside}
    largest = max(PARTS, key=lambda part: parts[part])
    if not scenario.injected_ms:
        wrong = scenario.part == "compute" and largest != "compute"
        return [f"the largest part is {largest}"] if wrong else []
    measured = scenario.injected_ms
    if bottlenecks.INJECTED:
        measured = 1e3 * sum(bottlenecks.INJECTED) / len(bottlenecks.INJECTED)
    # What a step does besides hides as much of the input's work where batches are prefetched,
    # and that is longer on a slower machine.
    rest = parts["step"] - parts["input_wait"] if scenario.part == "input_wait" else 0.0
    least = FOUND * (scenario.injected_ms - rest)
    if not least <= parts[scenario.part] <= NO_MORE * measured:
        return [f"{scenario.part} is not between {least:.2f} and {NO_MORE * measured:.2f} ms"]
    return []


@pytest.mark.parametrize("scenario", bottlenecks.SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_bottleneck_is_found(scenario, tmp_path):
    wrong = complaint(scenario, tmp_path / "1")
    if wrong is not None:
        # Another process may have taken the machine meanwhile: then two trainings out of three
        # have to be diagnosed right.
        again = [complaint(scenario, tmp_path / str(place)) for place in (2, 3)]
        assert again == [None, None], "\n".join([wrong, *filter(None, again)])
