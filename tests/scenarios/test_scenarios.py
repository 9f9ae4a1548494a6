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


@pytest.mark.parametrize("scenario", bottlenecks.SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_bottleneck_is_found(scenario, tmp_path):
    scenario.train(kp.perf_callbacks(tmp_path, profiler=False), False)
    found = kp.diagnose(tmp_path)
    advised = [advice.id for advice in found.recommendations]
    told = f"{found}"
    assert found.verdict in scenario.verdicts, told
    if scenario.top is not None:
        assert advised[:1] == [scenario.top], told
    assert not set(advised) & set(scenario.never), told
    parts = {**found.breakdown, **found.summary.outside}
    if scenario.injected_ms:
        assert parts[scenario.part] >= FOUND * scenario.injected_ms, told
    if scenario.part in ("input_wait", "compute"):
        assert parts[scenario.part] == max(parts[part] for part in PARTS), told
