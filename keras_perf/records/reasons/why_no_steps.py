"""Why no other number of steps per execution was tried in a training."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class WhyNoSteps(Words):
    """`owner` is a `Class.hook`, `epochs` what lies between two interruptions."""

    RUN_EAGERLY = "run_eagerly=True runs every step from Python"
    EAGER_FUNCTIONS = "tf.config.run_functions_eagerly(True) runs every step from Python"
    SEVERAL_WORKERS = "several workers would have to try at the same steps"
    OWN_TRAIN_FUNCTION = "{model} has a make_train_function of its own"
    CALLED_BY_OTHERS = (
        "what calls the train function is a loop or a list of callbacks of your own, which may do "
        "something between two steps"
    )
    LENGTH_NOT_KNOWN = (
        "the length of an epoch is not known before its end, which a longer execution must "
        "not cross; steps_per_epoch, or dataset.apply(tf.data.experimental.assert_cardinality"
        "(batches)), tells it"
    )
    DATA_MAY_END = (
        "with steps_per_epoch the data may end within a longer execution; dataset.repeat() "
        "never does"
    )
    STEPS_NOT_COUNTED = "the model's optimizer does not count its steps"
    MAY_STEER = (
        "{owner} may steer training step by step; if it only looks, say so with "
        "async_safe = True on the callback"
    )
    SAVES_BETWEEN_BATCHES = (
        "{owner} saves the model between batches, when a trial would have trained it "
        "further; with save_freq='epoch' it does not"
    )
    CAPTURES = "{owner} captures a trace (profile_batch), in which a trial would stand"
    TIMES_BATCHES = (
        "{owner} times each batch (write_steps_per_second), and would write that those of a trial "
        "take no time; with update_freq='epoch' it does not"
    )
    CANNOT_BE_REPEATED = "the train function cannot be repeated ({error})"
    OTHER_SHAPES = (
        "Keras from 3.16 on traces a step for the shape of the first batch that the model had, "
        "and others came, or may; one fixed shape for all (drop_remainder=True, padding to one "
        "length), and compile() before another batch size, let it be tried"
    )
    RANDOM_NUMBERS = (
        "the train step draws tf.random numbers, whose sequence a second function would not "
        "continue; keras.random continues it"
    )
    SUMMARIES = "the train step writes summaries, whose step number is set between two calls"
    PYTHON = "the train step runs Python code, which may steer training"
    LOGS = "the train step returns logs that are no single numbers"
    SHAPE_NOT_KNOWN = "with several replicas a trial needs batches whose shape is known"
    LARGE_REPLICAS = "the variables of all replicas are more than the {most:.0f} MiB that we copy"
    UNLIKE_ITSELF = (
        "steps of several replicas do not repeat bit for bit here, so none can be compared"
    )
    REPLICAS_DIFFER = "several replicas train differently where their steps run in one execution"
    CHANGES_TABLES = "the train step changes a table or a queue, which a trial could not put back"
    SHOWS_VALUES = "the train step prints or checks values, and the trial would show it zeros"
    LONG_STEPS = (
        "when trials were due, steps took {step_ms} in the train function, and those of more than "
        "{limit_ms} are too long to gain from it"
    )
    NOT_OBSERVED = "the training was not observed ({error})"
    LIMIT = "limit={limit} allows no more than the present {present}"
    NO_ROOM = "{epochs} of {epoch_steps} steps, with {steps_left} still to go, leave no room to try"
    NOTHING_LEFT = (
        "no call may run more steps than it does; execution(iterator, steps, left=...) tells how "
        "many it may, of a function that takes their number as a tensor and fetches each batch"
    )
    RAISED = "longer executions raised, and none was measured twice"
    LONG_TRACING = (
        "the first execution took {first_s:.0f} s to trace and compile; to optimise "
        "another function would not pay in the steps that are left"
    )
    REPLACED = "a callback rebuilt the train function during training"
    FEW_STEPS = "too few steps after warm-up to try another number"
    INSIDE_ANOTHER = "this fit is inside another one, which is observed"
    ON_JAX = (
        "on JAX, Keras up to 3.15, and later ones without jit_compile, runs the steps of an "
        "execution one by one from Python, so that more of them save nothing but callbacks' calls"
    )
    COMPILED_ON_JAX = (
        "on JAX, Keras from 3.16 on compiles the steps of an execution into one call, so that more "
        "of them may save dispatch; training again with a higher number tells"
    )
    STEPS_IN_AN_ELEMENT = (
        "an element of the iterator holds several steps, whose number a trial changes"
    )
    STEPS_NOT_KNOWN = "the number of steps is not known; LoopMonitor(steps=...) tells it"
    FUNCTION_NOT_KNOWN = (
        "another number of steps could trace the loop's function again, with what Python "
        "holds by then; LoopMonitor(function=...) lets that be seen"
    )
    TRACED_AGAIN = (
        "another number of steps would trace the loop's function again, with what "
        "Python holds by then; pass it as a tensor, tf.constant(call.steps), which the template "
        "does with --steps-per-call 2 or more"
    )
