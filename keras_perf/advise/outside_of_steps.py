"""What is told beside the verdict, where most of a training lies outside of its steps."""

from __future__ import annotations

from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_percent


def about_validation(situation: Situation) -> str:
    """A sentence, where most of the training is validation; "" elsewhere."""
    model = situation.model
    spent = model.outside.get("validation", 0.0)
    if spent <= model.training_ms / 2:
        return ""
    share = spent / model.training_ms
    return (
        "Most of the training lies outside of its steps: validation takes "
        f"{in_percent(share)} of it."
    )
