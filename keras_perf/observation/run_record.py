"""What the callbacks of one `fit` write: one writer a log directory, one record of facts."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from keras_perf.analyse.summary import Summary
from keras_perf.analyse.training import newest_training
from keras_perf.observation.safe_writer import SafeWriter
from keras_perf.observation.shown_lines import show
from keras_perf.observers.asking import Answer, Questions, answers, unwarned
from keras_perf.observers.closing_elsewhere import reading_own_run
from keras_perf.records.reasons.why_not_known import WhyNotKnown
from keras_perf.records.run.ending import Ending, How
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run_names import without_worker
from keras_perf.report.diagnosis import Diagnosis, diagnose
from keras_perf.report.ending_lines import ending_lines
from keras_perf.report.summary_picture import SIZE, picture_tag, summary_picture
from keras_perf.trace.agreement import compare_with_split
from keras_perf.trace.trace import Trace

logger = logging.getLogger("keras_perf")

NAMED = 5
"""Operations on the CPU are so many at most."""


class Recording:
    """Writers by log directory, and the facts that go into each of them.

    Arguments:
        run: the run's name under a log directory.
        ask: gives what is asked anew each time that the facts are written.

    Attributes:
        run: the same.
        facts: what is known beside the figures. Each listener replaces its part.
        not_known: name → reason of what would be among them, but could not be asked.
        trace: the newest capture's, as it was read.
    """

    def __init__(self, run: str, ask: Callable[[], Questions]) -> None:
        self.run = run
        self._ask = ask
        self.facts = RunFacts(ending=Ending(How.RUNNING))
        self._validation: Inference | None = None
        self.not_known: dict[str, str] = {}
        self._told, self._settled = set[str](), set[str]()
        self._writers: dict[str, SafeWriter] = {}
        self._diagnosed: list[str] = []
        self._summarized: set[str] = set()
        self.trace: Trace | None = None

    def writer(self, log_dir: str) -> SafeWriter:
        """The writer for a log directory, made at the first call."""
        if log_dir not in self._writers:
            self._writers[log_dir] = SafeWriter(log_dir, self.run)
        return self._writers[log_dir]

    def diagnose_at_end(self, log_dir: str, *, summary: bool) -> None:
        """Asks for the diagnosis in the Text tab, and for a summary of it where people look."""
        self.writer(log_dir)
        self._diagnosed.append(log_dir)
        if summary:
            self._summarized.add(log_dir)

    def says_nothing(self, log_dir: str, *, diagnoses: bool) -> None:
        """Prints no summary at the end of this `fit`; writes a diagnosis all the same or not."""
        self._summarized.discard(log_dir)
        if not diagnoses:
            self._diagnosed.remove(log_dir)

    def learn(self, questions: Questions) -> None:
        """Asks others for facts; what fails, or cannot be true, stays as it was and is named."""
        found = answers(questions, self.not_known)
        self.facts, wrong = self.facts.told(found)
        self.not_known |= {
            name: WhyNotKnown.CANNOT_BE.of(value=reprlib.repr(found[name])) for name in wrong
        }

    def settle(self, *names: str) -> None:
        """Asks for these facts, and not again: what follows would change the answers."""
        self.learn({name: each for name, each in self._ask().items() if name in names})
        self._settled |= {*names}

    def ask(self, name: str, question: Callable[[], Answer]) -> Answer | None:
        """The answer, which is no fact of the run; None if it fails, and that is named."""
        answer: Answer | None = answers({name: question}, self.not_known).get(name)
        return answer

    def validated(self, call: Inference) -> None:
        """Adds a validation to the others; several listeners may tell of the same one."""
        if call is not self._validation:
            self._validation = call
            together = call.after(self.facts.inference.get(VALIDATION))
            self.facts = replace(self.facts, inference={VALIDATION: together})

    def write_facts(self, step: int) -> None:
        """The facts as known so far; a killed run keeps the last ones written."""
        self.learn({name: each for name, each in self._ask().items() if name not in self._settled})
        self._say_what_is_not_known()
        self._write_facts(step)

    def _write_facts(self, step: int) -> None:
        content = replace(self.facts, not_known=dict(self.not_known)).to_json()
        for writer in self._writers.values():
            writer.context(step, content)
            writer.flush()

    def ends(self, ending: Ending | None) -> None:
        """Training has ended so; None if it is only not observed any longer."""
        if ending is not None and ending.out_of_memory:
            # Of several batches in a step one is computed at a time.
            at_once = max(1.0, self.facts.settings.fetches_per_step)
            examples = self.facts.length.examples_per_step
            batch = examples / at_once if examples else self.facts.length.batch_rows
            ending = replace(ending, batch=round(batch) if batch else None)
        self.facts = replace(self.facts, ending=ending)

    def _say_what_is_not_known(self) -> None:
        new = {name: why for name, why in self.not_known.items() if name not in self._told}
        self._told |= new.keys()
        if new:
            logger.warning(
                "keras_perf: unknown about this training: %s. Advice that needs it is missing.",
                ", ".join(f"{name} ({why})" for name, why in new.items()),
            )

    def flush(self) -> None:
        """Lets others read soon what was written so far."""
        for writer in self._writers.values():
            writer.flush()

    def flush_now(self) -> None:
        """Lets others read at once what was written so far."""
        for writer in self._writers.values():
            writer.flush_now()

    def _note_differences(self, trace: Trace, summary: Summary) -> None:
        """Where the newest trace and the split do not tell the same, and why."""
        self.facts = replace(
            self.facts,
            trace_agreement=compare_with_split(trace.to_frame(), summary),
            operations_on_cpu=dict(list(trace.cpu_operations.items())[:NAMED]),
        )

    def finish(self, step: int, *, diagnoses: bool) -> None:
        """Writes the facts, and the diagnosis if this run gives one."""
        self.write_facts(step)
        if diagnoses:
            self.flush_now()
        for log_dir in self._diagnosed if diagnoses else ():
            if not self._writers[log_dir].lost:
                with reading_own_run():
                    diagnosis = unwarned(self._diagnosis, step, log_dir)
                self._writers[log_dir].text(step, "perf/diagnosis", diagnosis.to_markdown())
                picture = self.ask("summary_picture", partial(summary_picture, diagnosis))
                if picture is not None:
                    self._writers[log_dir].picture(step, picture_tag(diagnosis), picture, SIZE)
                if log_dir in self._summarized and not without_worker(self.run)[1]:
                    show(ending_lines(diagnosis, log_dir))

    def _diagnosis(self, step: int, log_dir: str) -> Diagnosis:
        this = self._writers[log_dir].fit
        if self.trace is not None:
            self._note_differences(self.trace, newest_training(log_dir, this).summary())
            self._write_facts(step)
            self.flush_now()
        return diagnose(log_dir, fit=this)

    def close(self) -> None:
        """Closes the files; each is closed, whatever happens to another."""
        with ExitStack() as each:
            while self._writers:
                each.callback(self._writers.popitem()[1].close)
