"""Why a batch size did not train."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class WhyNotTrained(Words):
    """`why` is another reason, `last` the last that a process said."""

    NOT_DONE = "not done after {limit_s:g} s"
    TOO_LONG = "not tried: {size} took too long"
    ABOVE_OUT_OF_MEMORY = "not tried: {size} ran out of memory"
    INTERRUPTED = "not tried: an interrupt came before"
    OUT_OF_MEMORY = "out of memory: {why}"
    TOOK_MORE = "it took {peak_mib:.0f} MiB, more than {limit_mib:.0f} MiB"
    KILLED = "killed (SIGKILL)"
    ENDED_BY = "ended by {signal}: {last}"
    ENDED = "ended with code {code}: {last}"
    NO_ANSWER = "its process ended without an answer"
