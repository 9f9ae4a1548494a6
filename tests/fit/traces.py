"""What a log directory holds of captures, and a callback to disturb them."""

import json

import keras
from tensorflow.tsl.profiler.protobuf import xplane_pb2
from xprof.convert import raw_to_tool_data

from keras_perf.read.fits import fits_of
from keras_perf.records.run.json_form import plain


def traces(log_dir):
    """The trace files, oldest first."""
    return sorted((log_dir / "perf/plugins/profile").glob("*/*.xplane.pb"))


def captures(log_dir):
    """The captures that the run's facts name."""
    [[*_, fit]] = fits_of(log_dir).values()
    return plain(fit.facts.captures)


def marked_steps(path):
    """The numbers of the step markers in a trace, in their order."""
    space = xplane_pb2.XSpace.FromString(path.read_bytes())
    return sorted(
        stat.int64_value or stat.uint64_value
        for plane in space.planes
        for line in plane.lines
        for event in line.events
        if plane.event_metadata[event.metadata_id].name == "train"
        for stat in event.stats
        if plane.stat_metadata[stat.metadata_id].name == "step_num"
    )


def fetched_batches(path):
    """How many times a batch was taken from an iterator, by whatever step."""
    space = xplane_pb2.XSpace.FromString(path.read_bytes())
    return sum(
        plane.event_metadata[event.metadata_id].name.startswith("IteratorGetNext")
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    )


def steps_of_xprof(path):
    """The names of the steps that xprof's overview page gives times of."""
    content, _ = raw_to_tool_data.xspace_to_tool_data(
        [str(path)], "overview_page", {"use_saved_result": False}
    )
    text = content.decode() if isinstance(content, bytes) else content
    assert "No step marker observed" not in text
    return [
        row["c"][0]["v"]
        for table in json.loads(text)
        if any(column["id"] == "stepnum" for column in table.get("cols", []))
        for row in table["rows"]
    ]


class At(keras.callbacks.Callback):
    """Does something at the begin of some batches."""

    async_safe = True

    def __init__(self, act, *batches):
        super().__init__()
        self.act, self.batches = act, batches

    def on_train_batch_begin(self, batch, logs=None):
        if batch in self.batches:
            self.act()
