"""Which program stands for each scenario of the tests, and for each case that was seen."""

from __future__ import annotations

OF_SCENARIOS = {
    "slow_sequential_map": "sequential map",
    "parallel_map_that_fills_the_cores": "parallel map that fills the cores",
    "many_small_files": "many small files",
    "no_prefetch": "no prefetch",
    "the_same_work_in_each_epoch": "the same work in each epoch",
    "python_generator": "a generator that waits",
    "too_few_workers": "a PyDataset that waits, in two threads",
    "python_that_holds_the_interpreter": "a generator that works",
    "a_cheap_map_for_each_example": "a cheap map for each example",
    "parallel_map_that_waits": "waiting in the library's pool",
    "uneven_elements_in_order": "uneven elements in order",
    "slow_batch_callback": "a batch hook",
    "slow_epoch_callback": "an epoch's hook",
    "checkpoint_every_few_batches": "a checkpoint in every batch",
    "chatter": "chatter",
    "shapes_that_change": "lengths that vary now and then under XLA",
    "every_batch_as_long_as_its_longest": "lengths that vary under XLA",
    "every_batch_of_another_length": "every batch of another length",
    "train_function_made_anew": "a train function made anew",
    "partial_last_batch_under_xla": "a partial batch under XLA",
    "tiny_model": "a tiny model",
    "eager": "eager",
    "garbage_storm": "a storm of garbage",
    "large_validation": "validation longer than the epoch",
    "predicts_one_by_one": "predictions one by one",
    "healthy": "healthy",
    "too_short": "too short",
}
"""Scenario → program."""

SEEN = {
    "a hook of a training of 315 steps is made rarer, and then rarer than it is long": (
        "a batch hook",
        "a batch hook every 7 steps",
    ),
    "the demo's improved program is advised the same again": ("the demo's digits",),
    "processes are advised to a PyDataset that has them": (
        "a PyDataset that works, in four processes",
        "a PyDataset that works",
    ),
    "drop_remainder is advised where it is set": (
        "lengths that vary under XLA, without a remainder",
    ),
    "lengths that vary under XLA are taken for a partial batch": (
        "lengths that vary under XLA",
        "a partial batch under XLA",
    ),
    "run_eagerly is called compute-bound": ("eager", "eager, 256 wide"),
    "validation's share and what less of it gains disagree": ("validation longer than the epoch",),
    "prose and table have other figures of a stage": ("text_classification_from_scratch",),
    "no part is said to be worth anything beside an input wait": ("sequential map, wider model",),
    "steps are said to be too long to try for what a callback takes": (
        "a batch hook beside long steps",
    ),
    "a generator's gain is predicted as if others left the machine alone": (
        "a generator that works, others use half",
        "a generator that waits, others use half",
    ),
    "a sequential map's cache gains more than its bounds": ("sequential map, four epochs",),
    "input and compute share the cores": ("wide_deep_cross_networks",),
    "a cache is credited with noise": ("little preparation beside long steps",),
    "a cache before a finite repeat is not advised": ("a finite repeat",),
    "a cache is predicted behind random maps, shuffle and batch": (
        "a slow map, then a random one",
        "a slow map, then a random one, all of it shuffled",
        "a slow map behind a shuffle, then a random one",
        "speaker_recognition_using_cnn",
        "cutmix",
    ),
    "validation_steps is predicted to gain what it leaves": ("validation in three epochs",),
    "an input of one epoch is given neither advice nor reason": (
        "wide_deep_cross_networks in one epoch",
    ),
    "a cache behind several datasets that are the same in every pass is not advised": (
        "timeseries_weather_forecasting",
        "timeseries_anomaly_detection",
    ),
    "callback-bound, though validation and the rest are larger": (
        "a callback smaller than validation and the rest",
    ),
}
"""What was wrong → programs in which it would be seen again."""
