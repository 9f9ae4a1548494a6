"""Code with which workers make batches, and what their code must not do."""

from __future__ import annotations

from keras_perf.advise.code_names import identifier
from keras_perf.advise.loaders import with_processes
from keras_perf.advise.rules.input.waiting_workers import present_workers
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.interpreter import LOADERS
from keras_perf.records.run.input.pipeline import InputFacts
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of

QUEUE = 10
"""Batches that Keras lets workers make ahead, unless `max_queue_size` says otherwise: of more
workers some have nothing to do."""

FORKED_BESIDE = {
    TENSORFLOW: (
        "\n# in these processes the batches' code must use no TensorFlow, keras.ops or layers: "
        "they\n# are copies of a process that trains, in which such code may wait for ever; where "
        "Python\n"
        '# starts them anew, the program needs `if __name__ == "__main__":`'
    ),
    JAX: (
        "\n# JAX warns of os.fork(): in these processes the batches' code must not use JAX or "
        "keras.ops"
    ),
}
"""They are forked where Python's default start method forks. Threads of either are in no copy of a
process, and what they hold stays held there."""

PASSED_ON = "\n# an __init__ of its own passes them on, super().__init__(**kwargs)"

BESIDE_EACH_OTHER = (
    "\n# several threads call __getitem__ at the same time: each call opens its own files, and has"
    "\n# a random generator of its own, seeded with epoch and index of the batch"
)

IN_ORDER = "shuffle=False)  # in place of the dataset, in its order"

TO_SHUFFLE = """shuffle=True)  # in place of the dataset
# this shuffles whole batches: for other examples in each, draw an order of them in __init__ and
# on_epoch_end, and let a batch take its part of it"""

PASSED_ON_TO_PROCESSES = (
    "\n# an __init__ of its own passes both on, super().__init__(**kwargs), and may do once\n"
    "# what is the same in every epoch, such as decoding; random numbers need a generator\n"
    "# seeded with epoch and index of the batch, as each process gets a copy of yours"
)


def with_workers(kind: str, situation: Situation, number: int, *, threads: bool) -> str:
    """Code with which so many processes, or threads, make batches."""
    facts, comments = situation.facts, ""
    if kind in LOADERS:
        return with_processes(facts, number)
    workers = f"workers={number}{_queue(number)}"
    if not threads:
        workers += ", use_multiprocessing=True"
    if threads and present_workers(situation) == 1:
        comments = BESIDE_EACH_OTHER if kind == "generator" else PASSED_ON + BESIDE_EACH_OTHER
    elif not threads and not facts.input.input_processes:
        comments = PASSED_ON_TO_PROCESSES if kind == "PyDataset" else ""
        comments += FORKED_BESIDE[library_of(facts)]
    if kind == "PyDataset":
        return f"model.fit({_class_of(facts.input)}(..., {workers}), ...){comments}"
    steps = facts.length.epoch_steps
    length, more = f"{steps or 'number'}  # of batches in an epoch", ""
    if facts.length.ends_by_steps:
        length, more = "number  # of batches in all of the data", f"steps_per_epoch={steps}, "
    order = TO_SHUFFLE if "shuffle" in facts.input.kinds else IN_ORDER
    return (
        "class Batches(keras.utils.PyDataset):\n"
        "    def __len__(self):\n"
        f"        return {length}\n\n"
        "    def __getitem__(self, index):\n"
        "        return x, y  # batch number index, as NumPy arrays, made by your code\n\n"
        f"model.fit(Batches({workers}), ..., {more}{order}{comments}"
    )


def _class_of(known: InputFacts) -> str:
    """Of a PyDataset."""
    return identifier(known.input_source.name if known.input_source else "", "Batches")


def _queue(workers: int) -> str:
    """What lets each of them have a batch to make."""
    return f", max_queue_size={workers}" if workers > QUEUE else ""
