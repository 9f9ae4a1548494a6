"""What `tune_input` gains, beside what else one could do.

    python benchmarks/tuning.py [--only NAME,...] [--budget-s 30]

What: milliseconds a batch of pipelines as they are written, with tf.data's own options for tuning
(`autotune`, `map_parallelization`, `map_and_batch_fusion`, `parallel_batch`, all on), as
`tune_input` returns them, and as somebody who knows tf.data would write them.

How: the four in turn, five rounds; in each round a pipeline runs for a third of a second that is
not counted, so that what it has prepared is gone, and a third that is. Printed are medians. A cache
is filled before. Nothing but the input runs.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import followed_programs.published_input as examples
import result
import tensorflow as tf
from followed_programs import PUBLISHED
from followed_programs.input_pieces import rows, slept

import keras_perf as kp
from keras_perf.trials.rewriting.side_by_side import EndlessPipeline

ROUNDS = 5
WAYS = "written_ms", "options_ms", "tune_input_ms", "by_hand_ms"
AUTOTUNE = tf.data.AUTOTUNE


@dataclass(frozen=True)
class Pipeline:
    """As written, and as a person who knows tf.data writes it."""

    name: str
    written: Callable[[], tf.data.Dataset]
    by_hand: Callable[[], tf.data.Dataset]


def of(name: str) -> Callable[[], Any]:
    """A published program's dataset."""
    found = next(each for each in PUBLISHED if each.name == name)
    return found.dataset


def digits() -> tf.data.Dataset:
    """As the demo has it: images decoded one by one, in each epoch."""
    return tf.data.Dataset.from_tensor_slices(examples.pngs(640)).map(examples.decoded)


def scaled(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """As most programs scale images."""
    return tf.cast(x, tf.float32) / 255.0, y


PIPELINES = (
    Pipeline(
        "decoding in each epoch",
        lambda: digits().shuffle(640, seed=1).batch(32),
        lambda: digits().cache().shuffle(640, seed=1).batch(32).prefetch(AUTOTUNE),
    ),
    Pipeline(
        "image_classification_from_scratch",
        of("image_classification_from_scratch"),
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.pngs(1920))
            .map(examples.decoded, num_parallel_calls=AUTOTUNE)
            .cache()
            .map(examples.flipped, num_parallel_calls=AUTOTUNE)
            .batch(16)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "wide_deep_cross_networks",
        of("wide_deep_cross_networks"),
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.lines(6400))
            .map(examples.columns, num_parallel_calls=AUTOTUNE)
            .cache()
            .shuffle(1000)
            .batch(64)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "text_classification_from_scratch",
        of("text_classification_from_scratch"),
        lambda: (
            tf.data.Dataset.from_tensor_slices(
                (examples.TEXTS, examples.RANDOM.integers(0, 2, 640))
            )
            .batch(16)
            .map(examples.vectorized, num_parallel_calls=AUTOTUNE)
            .cache()
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "small images",
        lambda: tf.data.Dataset.from_tensor_slices(examples.images(2560, 28)).map(scaled).batch(32),
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.images(2560, 28))
            .batch(32)
            .map(scaled, num_parallel_calls=AUTOTUNE)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "waiting for storage",
        lambda: rows(3200)().batch(8).map(slept(5.0)),
        lambda: rows(3200)().batch(8).map(slept(5.0), num_parallel_calls=16).with_options(wide()),
    ),
)


def wide() -> tf.data.Options:
    """A pool of its own."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 16
    return options


def tuned_by_tensorflow(data: tf.data.Dataset) -> tf.data.Dataset:
    """All that tf.data offers to tune by itself."""
    options = tf.data.Options()
    options.autotune.enabled = True
    for name in ("map_parallelization", "map_and_batch_fusion", "parallel_batch", "map_fusion"):
        setattr(options.experimental_optimization, name, True)
    return data.with_options(options)


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget-s", type=float, default=30.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result.begin()
    rows = result.Table()
    wanted = set(filter(None, arguments.only.split(",")))
    for each in PIPELINES:
        if wanted and each.name not in wanted:
            continue
        tuned = kp.tune_input(each.written(), budget_s=arguments.budget_s)
        ways = [each.written(), tuned_by_tensorflow(each.written()), tuned.dataset, each.by_hand()]
        pipelines = [EndlessPipeline(way) for way in ways]
        for way, pipeline in zip(ways, pipelines, strict=True):
            pipeline.take(max(1, int(way.cardinality())))
        times: list[list[float]] = [[] for _ in pipelines]
        for _ in range(ROUNDS):
            for pipeline, taken in zip(pipelines, times, strict=True):
                taken.append(pipeline.batch_ms())
        figures = dict(zip(WAYS, map(median, times), strict=True))
        kept = ", ".join(change.id for change in tuned.changes) or "nothing"
        rows.add(pipeline=each.name, **figures, kept=kept)
    result.keep(arguments.json, pipelines=rows)


if __name__ == "__main__":
    main()
