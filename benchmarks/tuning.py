"""What `tune_input` gains, beside what else one could do.

    python benchmarks/tuning.py [--only NAME,...] [--budget-s 30]

What: milliseconds a batch of pipelines (`trying/pipelines.py`: the demo's, four of published
programs, and three more) as they are written, with tf.data's own options for tuning
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
from pathlib import Path
from statistics import median

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import result
import tensorflow as tf
from trying.pipelines import PIPELINES

import keras_perf as kp
from keras_perf.trials.measuring.side_by_side import EndlessPipeline

ROUNDS = 5
WAYS = "written_ms", "options_ms", "tune_input_ms", "by_hand_ms"


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
        tuned = kp.tune_input(
            each.written(),
            budget_s=arguments.budget_s,
            any_random_numbers=each.draws_others,
        )
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
