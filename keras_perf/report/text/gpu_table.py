"""Which GPU is which, for TensorBoard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keras_perf.report.text.forms import Markdown


def gpus_markdown(gpus: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """A table for the Text tab.

    Arguments:
        gpus: of each the beginning of its tags, its name and what it does not tell.
    """
    rows = [[tag, name, ", ".join(missing) or "–"] for tag, name, missing in gpus]
    form = Markdown()
    form.table(["tags", "GPU", "not supported"], rows)
    return str(form)
