"""A training in a process of its own.

`python -m keras_perf.trials.environment.child FOLDER PARENT`, with the number of the process that
starts it. It says a line of JSON once it runs, `{}`, and for each line that it reads one with the
milliseconds of a step, `{"step_ms": …}`; or `{"failed": "…"}`, its last. It ends when its input
does, or its parent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from keras_perf.records.text.error_line import error_line
from keras_perf.trials.environment.handed_training import HandedTraining
from keras_perf.trials.other_process.answers import answers_apart
from keras_perf.trials.other_process.parent import end_before_parent, end_with_parent
from keras_perf.trials.train_functions.restored import KeptState, build
from keras_perf.trials.training.running import RunningTraining, TrainFunctions


def main(folder: str, parent: str) -> None:
    """Answers until nobody asks any more."""
    answers = answers_apart()
    end_with_parent(int(parent))
    end_before_parent()
    try:
        setup = HandedTraining.written_in(Path(folder)).read()
        build(setup.model, setup.graph.dataset())
        training = RunningTraining(setup, TrainFunctions(KeptState(setup.model)))
        training.settle()
        print("{}", file=answers)
        for _ in sys.stdin:
            print(json.dumps({"step_ms": training.step_ms()}), file=answers)
    except Exception as error:  # noqa: BLE001  the parent tells it of this setting
        print(json.dumps({"failed": error_line(error)}), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
