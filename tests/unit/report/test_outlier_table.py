"""Events come back from the context record as they were recorded."""

from __future__ import annotations

import json

from keras_perf.records.outlier import Cause, GapEvent
from keras_perf.report.text.outlier_table import events_of

EVENTS = (
    GapEvent(40, Cause.CALLBACK, "Mine.on_train_batch_end", 90.0, 10.0),
    GapEvent(60, Cause.UNKNOWN, "", 30.0, 10.0),
)


def test_events_come_back_from_the_record_in_their_order():
    record = json.loads(json.dumps({"events": [event._asdict() for event in EVENTS]}))
    assert events_of(record) == EVENTS


def test_a_run_without_events_has_none():
    assert events_of({}) == events_of({"events": None}) == events_of({"events": []}) == ()
