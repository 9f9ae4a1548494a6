"""What no rule advises, but a trial of a training or of its input."""

from __future__ import annotations

from keras_perf.advise.rules.followed import filters_first, is_not_compiled
from keras_perf.advise.rules.rule import Known, Rule

ONLY_TRIED = (
    Rule(
        "filter-before-map",
        Known(
            on="input",
            leaves="the work on the elements that are kept stays",
            followed=filters_first,
            else_gone=True,
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
    Rule("smaller-shuffle"),
    Rule("intra-op-threads", Known(tried_title="Give an operation fewer threads")),
    Rule("inter-op-threads", Known(tried_title="Run fewer operations at a time")),
    Rule("one-inter-op-thread", Known(tried_title="Run one operation at a time")),
    Rule("disable-onednn", Known(tried_title="Compute without oneDNN")),
    Rule("enable-onednn", Known(tried_title="Compute with oneDNN")),
)
