"""What other batch sizes gave, as rows."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.batch_sizes import BatchSizes

BATCH_SIZES = "Batch sizes, tried"
HEADER = ("batch size", "step, ms", "examples/s", "peak of memory, MiB", "")


def batch_size_rows(found: BatchSizes) -> Iterator[list[str]]:
    """A row a size, smallest first; its last cell says what it is."""
    notes = {found.largest: "largest that fits", found.present: "set"}
    notes[found.recommended] = "recommended"
    for each in found.tried:
        figures = map(figure, (each.step_ms, each.examples_per_sec, each.peak_mib))
        note = each.reason or notes.get(each.batch_size, "")
        yield [f"{each.batch_size:,}", *figures, note]
