"""What calls of `evaluate` and `predict` with our callbacks leave in a log directory."""

from __future__ import annotations

import os
from dataclasses import replace

from keras_perf.cluster.worker_number import place_among_workers
from keras_perf.observation.failure_line import warn_of
from keras_perf.observers.asking import Questions, answers, unwarned
from keras_perf.observers.steps.calls.call_scalars import call_scalars
from keras_perf.records.run.inference import Inference
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run_names import RUN, worker_run
from keras_perf.write.reopened_run import ReopenedRun

EACH_WRITTEN = 100
"""So many calls of a kind are written as each ends, however short."""
UNWRITTEN = 0.01
"""Of later ones what is written lacks at most this share of the time of all calls, until `finish`:
`predict` may be called ten thousand times."""


class CallLog:
    """Sums calls, and writes the sums into one file, which is closed between two calls.

    Of several workers each has a run of its own.

    Arguments:
        log_dir: the directory that TensorBoard is started on.
        facts: of the machine and of the model that is called first.
    """

    def __init__(self, log_dir: str, facts: Questions) -> None:
        self._log_dir = log_dir
        worker = place_among_workers(os.environ.get("TF_CONFIG"))[0]
        run = RUN if worker is None else worker_run(worker)
        self._run: ReopenedRun | None = ReopenedRun(log_dir, run)
        not_known: dict[str, str] = {}
        known = answers(facts, not_known)
        self._facts = replace(RunFacts().told(known)[0], not_known=not_known)
        self._calls: dict[str, Inference] = {}
        self._unwritten: tuple[str, Inference] | None = None
        self._unwritten_s = 0.0

    def knows(self, kind: str) -> bool:
        """There was one of this kind."""
        return kind in self._calls

    def add(self, kind: str, call: Inference) -> None:
        """A call has ended."""
        together = self._calls[kind] = call.after(self._calls.get(kind))
        self._unwritten = kind, call
        self._unwritten_s += call.spent_s
        total_s = sum(each.spent_s for each in self._calls.values())
        if together.calls <= EACH_WRITTEN or self._unwritten_s >= UNWRITTEN * total_s:
            self.finish()

    def finish(self) -> None:
        """Writes what is not written yet."""
        if self._run is None or self._unwritten is None:
            return
        kind, call = self._unwritten
        self._unwritten, self._unwritten_s = None, 0.0
        facts = replace(self._facts, inference=dict(self._calls))
        calls = self._calls[kind].calls
        try:
            unwarned(self._run.write, calls, call_scalars(kind, call), facts.to_json())
        except Exception as error:  # noqa: BLE001  monitoring never kills a prediction
            self._run = None
            what = f"writing to {self._log_dir!r}"
            warn_of(error, what, "what was to be logged from here on is missing")
