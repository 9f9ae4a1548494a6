"""What is said of Python code that makes batches."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, situation

from keras_perf.advise.notes.input.making import making_notes
from keras_perf.advise.rules.input.python_input import parallel_input


@pytest.mark.parametrize(("compiling_s", "said"), [(0.0, False), (0.08, False), (1.2, True)])
def test_what_is_compiled_to_make_a_batch_is_named_in_place_of_workers(compiling_s, said):
    context = {"input_kind": "PyDataset", "fetch_compiling_s": compiling_s}
    found = situation(input_wait=8.0, compute=2.0, context=context)
    notes = [note for note in making_notes(diagnosed(found)) if "JAX compiled" in note]
    assert bool(notes) is said
    if said:
        # In 200 steps.
        [note] = notes
        assert note.startswith("For 6 ms of each step JAX compiled what your code makes batches")
    assert (parallel_input(found) is None) is said
