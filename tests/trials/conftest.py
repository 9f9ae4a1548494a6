"""Devices that this machine does not have."""

import pytest
import tensorflow as tf


@pytest.fixture
def gpus(monkeypatch):
    """Three GPUs that TensorFlow finds; gives a list of those that are visible."""
    found = ["GPU 0", "GPU 1", "GPU 2"]
    visible = list(found)

    def set_to(chosen, kind):
        assert kind == "GPU"
        visible[:] = chosen

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_: list(found))
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda *_: list(visible))
    monkeypatch.setattr(tf.config, "set_visible_devices", set_to)
    return visible
