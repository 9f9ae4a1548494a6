"""Why a change was not tried on a training, or on its input, and why others were not."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class WhyNotTried(Words):
    """`error` and `why` are what TensorFlow or another reason says."""

    OTHER_RANDOM_NUMBERS = "it draws random numbers or has a state, which other elements would get"
    RANDOM_CALLS = "it draws random numbers or has a state, which other calls would get"
    DRAWS = "other calls would get the random numbers it draws: allow it by any_random_numbers=True"
    DRAWS_ALIKE = (
        "operations of one seed, such as an image's and its mask's, draw alike in it, and other "
        "calls would part them"
    )
    RANDOM_READS = "it draws random numbers or shuffles, which datasets read at once would share"
    PYTHON_SEES_ORDER = "your Python function would see the elements in another order"
    SEVERAL_DATASETS = "several datasets come together in it"
    BY_PLACE = "{stage} works with the places of elements, which would be others"
    ORDER = "it changes the order of examples: allow it by any_order=True"
    SEVERAL_READERS = "several stages read its elements"
    ERRORS_LEFT_OUT = "an error in one element would leave out a whole batch"
    ERRORS_MOVED = "an error in one element would leave out another"
    SHAPES_DIFFER = "the elements before it need not have one shape"
    OPERATIONS = "whether {operations} would give the same for a batch is not known"
    NOT_BATCHED = "TensorFlow cannot make a function of batches of it: {error}"
    ELEMENTS_DIFFER = "its elements would differ, or differ from one time to the next anyhow"
    NO_PASS = (
        "a pass through the data does not end in the time that is left; with repeat() before the "
        "cache it never does: try the data of one pass"
    )
    NO_MEMORY = (
        "{size_mib:.0f} MiB would take more than half of the memory that is free; "
        "cache_dir=DIRECTORY tries files there"
    )
    NO_DISK = "{size_mib:.0f} MiB would take more than half of what is free in {directory}"
    CACHE_NOT_FILLED = "the cache that is there was not filled: {why}"
    KERAS_BATCHES = "Keras itself makes the batches of arrays, by stages that no program can change"
    INPUT_IS_FREE = "steps on a ready batch take as long: input costs nothing"
    INPUT_IS_QUICK = "the input alone makes a batch in less than {share_pct:.0f}% of a step"
    AS_ON_READY = "with {other} a step is as fast as on a ready batch"
    NOT_ON_TOP = "tried only on top of what is worth it, it gains nothing"
    TOO_LONG = (
        "it takes about {needed_s:.1f} s, and {left_s:.1f} s are left for it: allow more "
        "than {budget_s:.0f} s"
    )
    NO_ROOM_FOR_BATCH = (
        "a batch of {rows:,} might take {needed_mib} more, over half of the {free_mib} that are "
        "free: sweep_batch_size tries it in a process of its own"
    )
    FEW_BATCHES = "a pass through the data has too few batches to make larger ones of: {batches}"
    BATCH_SIZE_UNKNOWN = (
        "the dataset does not say how many rows a batch has: sweep_batch_size tries other sizes"
    )
    NO_BFLOAT16 = "this processor has no instructions for bfloat16, and would convert at each layer"
    SCALES_ON_ONE = (
        "this GPU computes in float16, whose loss is scaled, and of several replicas Keras looks "
        "for an overflow in the first one's gradients only"
    )
    OTHER_POLICY = "the model's policy is {policy}: only float32 and the mixed ones are tried"
    FROZEN_ALREADY = (
        "objects are frozen already, and which of them could not be put back after a trial"
    )
    STEPS_ON_JAX = (
        "on JAX, Keras from 3.16 on stacks the batches of an execution, which trials do not; "
        "training again with a higher number tells"
    )
    ENVIRONMENT_ON_JAX = "settings of the environment are tried with TensorFlow only"
    HOOKS_ARE_QUICK = "the hooks of all callbacks take less than {share_pct:.0f}% of a step"
    CALLED_AGAIN_NAMES = "{hook} names {name}: called again, it may write, or steer training"
    CALLED_AGAIN_UNKNOWN = "{hook} uses {name}, and what that does when called again is unknown"
    ASYNC_SAFE = (
        "{callback} has async_safe: Keras calls its hooks in threads of its own, which trials "
        "do not follow"
    )
    CALLED_AGAIN_DRAWS = "{hook} draws random numbers, which others would then get"
    CALLED_AGAIN_LIBRARY = "{hook} is a library's: called again, it may write, or steer training"
    NOT_COPIED = "it cannot be copied: {error}"
    TIME_IS_OVER = "the {budget_s:.0f} s for them were over"


class EndedBy(Words):
    """What ended trials before all was tried."""

    INTERRUPT = "an interrupt"
    TOO_SLOW = "steps so long that two trainings in turn take {needed_s:.0f} s of {budget_s:.0f} s"


class InputEnd(Words):
    """Why no more changes of an input were tried."""

    INTERRUPT = "Stopped by an interrupt."
    TIME = "Stopped: the {seconds:.0f} s ran out."
    FAST_ENOUGH = (
        "Stopped: a batch takes {batch_ms}, a step {step_ms}; faster input would buy nothing."
    )
