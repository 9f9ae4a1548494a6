"""What no rule advises, but a trial of a training or of its input."""

from __future__ import annotations

from keras_perf.advise.rules.followed import filters_first, is_not_compiled
from keras_perf.advise.rules.rule import Known, Rule
from keras_perf.records.advice_ids import (
    DISABLE_ONEDNN,
    DISABLE_XLA,
    ENABLE_ONEDNN,
    FILTER_BEFORE_MAP,
    INTER_OP_THREADS,
    INTRA_OP_THREADS,
    ONE_INTER_OP_THREAD,
    SMALLER_SHUFFLE,
)

ONLY_TRIED = (
    Rule(
        FILTER_BEFORE_MAP,
        Known(
            on="input",
            leaves="the work on the elements that are kept stays",
            followed=filters_first,
            else_gone=True,
        ),
    ),
    Rule(
        DISABLE_XLA,
        Known(
            tried_title="Do not compile the train function with XLA",
            gives_up="XLA",
            followed=is_not_compiled,
        ),
    ),
    Rule(SMALLER_SHUFFLE),
    Rule(INTRA_OP_THREADS, Known(tried_title="Give an operation fewer threads")),
    Rule(INTER_OP_THREADS, Known(tried_title="Run fewer operations at a time")),
    Rule(ONE_INTER_OP_THREAD, Known(tried_title="Run one operation at a time")),
    Rule(DISABLE_ONEDNN, Known(tried_title="Compute without oneDNN")),
    Rule(ENABLE_ONEDNN, Known(tried_title="Compute with oneDNN")),
)
