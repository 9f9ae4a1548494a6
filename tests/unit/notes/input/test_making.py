"""What is said of Python code that makes batches."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, situation

from keras_perf.advise.notes.input.making import making_notes


@pytest.mark.parametrize(("compiling_ms", "said"), [(0.0, False), (0.4, False), (6.0, True)])
def test_what_is_compiled_to_make_a_batch_is_named(compiling_ms, said):
    context = {"input_kind": "PyDataset", "fetch_compiling_ms": compiling_ms}
    found = situation(input_wait=8.0, compute=2.0, context=context)
    notes = list(making_notes(diagnosed(found, "input-bound", ["parallel-input"])))
    assert bool(notes) is said
    if said:
        [note] = notes
        assert note.startswith("For 6 ms of each batch JAX compiled what your code makes it with")
