"""What no rule advises, but a trial of a training or of its input."""

from __future__ import annotations

from keras_perf.advise.rules.followed import filters_first, is_not_compiled, is_not_shown
from keras_perf.advise.rules.rule import Known, Rule

ONLY_TRIED = (
    Rule(
        "filter-before-map",
        Known(
            on="input",
            leaves="the work on the elements that are kept stays",
            followed=filters_first,
        ),
    ),
    Rule(
        "disable-xla",
        Known(
            tried_title="Do not compile the train function with XLA",
            gives_up="XLA",
            followed=is_not_compiled,
        ),
    ),
    *(
        Rule(id, Known(tried_title=title, followed=is_not_shown))
        for id, title in (
            ("smaller-shuffle", ""),
            ("intra-op-threads", "Give an operation fewer threads"),
            ("inter-op-threads", "Run fewer operations at a time"),
            ("one-inter-op-thread", "Run one operation at a time"),
            ("disable-onednn", "Compute without oneDNN"),
            ("enable-onednn", "Compute with oneDNN"),
        )
    ),
)
