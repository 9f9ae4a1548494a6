"""Scalars written and read per second.

    python benchmarks/reading/scalars.py [--events 50000] [--repeats 3] [--tensorboard-repeats 1]

What: 20 scalars an event, one million in all, written with keras_perf's `RunWriter` (until the
file is closed) beside `tf.summary.scalar`, one call a value, which is given fewer values because
it is slow; then the million read back with `keras_perf.load_scalars`, which gives a frame,
beside TensorBoard's `EventAccumulator`, told to keep everything, without and with making a frame
of what it read.

How: everybody writes the same tags and values, and everybody reads the file that `RunWriter`
wrote, which has just been written and lies in the page cache. Wall time without imports, median
over repeats; figures per value make the rows comparable.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd
import result
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

import keras_perf as kp
from keras_perf.records.run_names import RUN
from keras_perf.write.run_writer import RunWriter

TAGS = [f"perf/part_{number:02d}_ms" for number in range(20)]
KEEP_ALL = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
FEWER = 50
"""`tf.summary` writes one value of so many."""


def values_at(step: int) -> dict[str, float]:
    """Tag → value."""
    return {tag: step * 0.001 + number for number, tag in enumerate(TAGS)}


def write_with_run_writer(log_dir: str, events: int) -> None:
    """One event a step."""
    writer = RunWriter(log_dir)
    for step in range(events):
        writer.scalars(step, values_at(step), 1e9 + step)
    writer.close()


def write_with_tf_summary(log_dir: str, events: int) -> None:
    """One call a value."""
    writer = tf.summary.create_file_writer(log_dir)
    with writer.as_default():
        for step in range(events):
            for tag, value in values_at(step).items():
                tf.summary.scalar(tag, value, step)
    writer.close()


def accumulate(log_dir: str) -> event_accumulator.EventAccumulator:
    """TensorBoard's reader."""
    accumulator = event_accumulator.EventAccumulator(os.path.join(log_dir, RUN), KEEP_ALL)
    return accumulator.Reload()


def accumulate_frame(log_dir: str) -> pd.DataFrame:
    """TensorBoard's reader, and a frame of all it read."""
    accumulator = accumulate(log_dir)
    frames = {tag: pd.DataFrame(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"]}
    return pd.concat(frames, names=["tag"]).reset_index("tag")


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(events: int, repeats: int, others: int) -> dict[str, tuple[list[float], int]]:
    """Seconds of each repeat and number of values, by row of the table."""
    many, few = events * len(TAGS), max(1, events // FEWER) * len(TAGS)
    rows: dict[str, tuple[list[float], int]] = {
        "written: RunWriter": ([], many),
        "written: tf.summary.scalar": ([], few),
        "read: load_scalars, a frame": ([], many),
        "read: EventAccumulator": ([], many),
        "read: EventAccumulator, a frame": ([], many),
    }
    ours, tf_summary, load, accumulator, accumulator_frame = (times for times, _ in rows.values())
    for repeat in range(max(repeats, others)):
        with tempfile.TemporaryDirectory() as log_dir, tempfile.TemporaryDirectory() as other_dir:
            ours.append(seconds(lambda: write_with_run_writer(log_dir, events)))
            load.append(seconds(lambda: check(kp.load_scalars(log_dir), many)))
            if repeat < others:
                tf_summary.append(
                    seconds(lambda: write_with_tf_summary(other_dir, few // len(TAGS)))
                )
                accumulator.append(seconds(lambda: accumulate(log_dir)))
                accumulator_frame.append(seconds(lambda: check(accumulate_frame(log_dir), many)))
    return rows


def check(frame: pd.DataFrame, rows: int) -> None:
    """Everything was read."""
    assert len(frame) == rows, f"{len(frame)} of {rows} values were read"


def table(found: dict[str, tuple[list[float], int]]) -> result.Table:
    """Medians."""
    rows = result.Table()
    for name, (times, count) in found.items():
        middle = statistics.median(times)
        rows.add(
            what=name,
            values=count,
            s=middle,
            value_us=middle / count * 1e6,
            values_per_sec=count / middle,
            repeats=len(times),
        )
    return rows


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--events", type=int, default=50_000, help="of 20 values each")
    parser.add_argument("--repeats", type=int, default=3, help="of what is ours, at least 1")
    parser.add_argument(
        "--tensorboard-repeats", type=int, default=1, help="of what is not, at least 1"
    )
    arguments = parser.parse_args()
    result.begin()
    found = measure(arguments.events, arguments.repeats, arguments.tensorboard_repeats)
    result.keep(arguments.json, values=table(found))


if __name__ == "__main__":
    main()
