"""What a training with our callbacks prints, down to the file descriptors."""

import programs
import pytest

import keras_perf as kp


@pytest.fixture
def printed(tmp_path, capfd):
    """What a second training prints: TensorFlow says what it has to say in the first one."""

    def train(**options):
        model, data = programs.model(), programs.dataset(60)
        model.fit(data, verbose=0, shuffle=False)
        capfd.readouterr()
        ours = kp.perf_callbacks(tmp_path, profiler=False, **options)
        model.fit(data, verbose=0, shuffle=False, callbacks=ours)
        return capfd.readouterr()

    return train


def test_without_the_summary_nothing_is_printed(printed):
    assert printed(summary=False) == ("", "")


def test_the_summary_is_all_that_is_printed(printed):
    out, err = printed()
    assert out == ""
    first, *more = err.strip().splitlines()
    assert first.startswith("keras_perf: ")
    assert len(more) <= 3
    assert all(line.startswith("  ") for line in more)
