"""What a change takes beside time, and what of a training it alters."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class Costs(Words):
    """`where`, `held`, `one` and `other` are sentences too, `folder` is a path."""

    MEMORY = "memory"
    TRACED_ONCE = "Python code in the step runs once, when it is traced"
    PADDING = "computing of what is padded"
    COMPILING = "time to compile, for each shape of a batch"
    CIRCLES = "memory of objects that refer to each other, until the collector runs again"
    RARER_HOOKS = "batch hooks are called once for {number} steps"
    IN_MEMORY = "memory for all that it keeps"
    IN_FILES = "files in {folder}, which stay there"
    KEPT = "{where}; the first pass, which fills it, was not timed"
    HOLDS = "it holds {size_mib}"
    SAME_EACH_TIME = "{one}; your Python function must give the same result each time"
    KEPT_BEFORE_SHUFFLE = "{where}; {held}"
    SHUFFLE_HOLDS = "shuffle holds {elements:,} mapped elements"
    SHUFFLE_HOLDS_SO_MUCH = "shuffle holds {elements:,} mapped elements, {size_mib}"
    NONE_BESIDES = "none besides"
    FEW_ELEMENTS = "a buffer of a few elements"
    FEW_BATCHES = "a buffer of a few batches"
    EACH_DATASET = "a buffer for each dataset that is read"
    DATASETS = "a buffer for each of the {number} datasets that are read at a time"
    BOTH = "{one}; {other}"
    SEVERAL_THREADS = "several threads call your Python function, in another order"
    OTHER_DRAWS = "an element gets other random numbers, which differ between runs"
    WHOLE_BATCHES = "memory for the intermediate results of a whole batch"
    NOT_CALLED = (
        "the map is not called for what is left out, so that an error there no longer shows"
    )
    THREADS = "{number} threads"
    ORDER = "the order of examples differs between runs"
    ONE_OPERATION = "one operation on {cores} of {all} cores in all of the program"
    OPERATIONS = "operations on {cores} of {all} cores in all of the program"
    ROUNDING = "results are rounded differently"


class Alters(Words):
    """`callback` is the name of its class."""

    WITHOUT = "what {callback} does is missing"
    PADDED = "batches are padded with zeros, which the model must mask"
    FEWER_UPDATES = (
        "fewer updates for as many examples: look for the batch size and the learning rate "
        "with sweep_batch_size and find_learning_rate; where steps_per_epoch is set, it is to be "
        "divided by 4"
    )
    PRECISION = "the precision of what is computed"
