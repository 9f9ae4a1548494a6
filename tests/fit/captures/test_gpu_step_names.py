"""What is told of a GPU's steps rests on names of TensorFlow's, of which a CPU shows a few."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from traces import traces

import keras_perf as kp
from keras_perf.capture import background_reader
from keras_perf.trace.file.xplane import read_xspace
from keras_perf.trace.host_operations import Executor
from keras_perf.trace.trace import Trace

pytestmark = pytest.mark.xdist_group("a trace as of a GPU")

OF_A_GPU = {
    "step_ms": 10.0,
    "execution_ms": 10.0,
    "kernel_ms": 2.0,
    "waits_for_cpu_operation_ms": 4.0,
}


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory):
    """Of a training whose trace, when read, is one of a GPU; the file is the CPU's own."""
    path = tmp_path_factory.mktemp("logs")
    x = np.zeros((64, 8, 8, 3), "float32")
    flipped = tf.data.Dataset.from_tensor_slices((x, x[:, 0, 0, :1])).map(
        lambda image, y: (tf.reverse(image, [0]), y)
    )
    # Without a buffer the map runs in every step, also in those of the trace.
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    flipped = flipped.with_options(options)
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.Flatten()]
    )
    model.add(layers.Dense(1))
    model.compile("sgd", "mse", jit_compile=False)
    read = background_reader.read_trace

    def read_as_of_a_gpu(where):
        found = read(where)
        return Trace(
            *(found.paths, found.hosts, found.steps, found.executions, found.steps_from),
            OF_A_GPU,
            *(found.errors, found.frame, {"Unique": 4.0}),
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(background_reader, "read_trace", read_as_of_a_gpu)
        model.fit(
            flipped.batch(4).repeat(),
            steps_per_epoch=50,
            shuffle=False,
            verbose=0,
            callbacks=[
                kp.WindowedProfiler(path, warmup_steps=20, active_steps=4),
                kp.StepGapDetector(path),
            ],
        )
    return path


def test_what_a_trace_of_a_gpu_shows_is_in_the_diagnosis(log_dir):
    told = kp.diagnose(log_dir)
    assert told.summary.facts.operations_on_cpu == {"Unique": 4.0}
    assert "run on the CPU (Unique 4 ms) for 4 ms of each traced step of 10 ms" in str(told)


def test_operations_are_known_by_the_run_that_they_belong_to(log_dir):
    """Canary for `Executor`: names, and the number that runs and operations have in common."""
    (plane,) = read_xspace(traces(log_dir)[0]).host_planes
    executor, nowhere = Executor(plane), np.array([], dtype=np.int64)
    runs, threads = set(), []
    for line in plane.lines():
        threads.append(executor.operations(line.events, nowhere))
        if line.name.startswith("python"):
            runs |= executor.runs_of(line.events)
    assert len(runs) >= 4
    types = {type_ for thread in threads for type_ in thread.types}
    of_steps = {type_ for thread in threads for type_ in thread.of(frozenset(runs)).types}
    # Which of its kernels multiplies depends on the processor: MatMul, _MklMatMul and others.
    assert {"MatMul", "Rsqrt"} <= {type_.removeprefix("_Mkl") for type_ in of_steps}
    assert "ReverseV2" in types - of_steps


def test_batch_normalization_is_not_fused_and_has_its_scope(log_dir):
    """Canary for `unfused_normalization`: what Keras calls, and how TensorFlow names it."""
    (plane,) = read_xspace(traces(log_dir)[0]).host_planes
    names = plane.event_names.values()
    assert any("/batchnorm/Rsqrt:" in name for name in names)
    assert not any("FusedBatchNorm" in name for name in names)
