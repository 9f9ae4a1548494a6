"""The diagnosis of programs whose bottleneck is known."""

import bottlenecks
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.records.interval import PARTS

FOUND = 0.7
"""Of the injected time so much must be found where it was put: prefetching hides a part of it."""

pytestmark = [
    pytest.mark.skipif(
        not hasattr(tf.data.experimental, "get_model_proto"),
        reason="this TensorFlow does not tell tf.data's gap times",
    ),
    # Keras warns whenever data end whose length it did not know.
    pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning"),
]


def complaint(scenario, log_dir):
    """What is wrong with the diagnosis of one training, or None."""
    scenario.train(kp.perf_callbacks(log_dir, profiler=scenario.traced), False)
    found = kp.diagnose(log_dir)
    advised = [advice.id for advice in found.recommendations]
    parts = {**found.breakdown, **found.summary.outside}
    wrong = []
    if found.verdict not in scenario.verdicts:
        wrong.append(f"the verdict is {found.verdict}")
    if scenario.top is not None and advised[:1] != [scenario.top]:
        wrong.append(f"the first advice is {advised[:1]}")
    if set(advised) & set(scenario.never):
        wrong.append(f"among the advice is one of {scenario.never}")
    if scenario.injected_ms and parts[scenario.part] < FOUND * scenario.injected_ms:
        wrong.append(f"{scenario.part} is too small")
    largest = max(PARTS, key=lambda part: parts[part])
    if scenario.part in ("input_wait", "compute") and scenario.part != largest:
        wrong.append(f"the largest part is {largest}")
    return f"{', '.join(wrong)}:\n{found}" if wrong else None


@pytest.mark.parametrize("scenario", bottlenecks.SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_bottleneck_is_found(scenario, tmp_path):
    wrong = complaint(scenario, tmp_path / "1")
    if wrong is not None:
        # Another process may have taken the machine meanwhile: then two trainings out of three
        # have to be diagnosed right.
        again = [complaint(scenario, tmp_path / str(place)) for place in (2, 3)]
        assert again == [None, None], "\n".join([wrong, *filter(None, again)])
