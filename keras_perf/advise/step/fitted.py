"""What the model of a step takes from trainings that were measured, on machines of two cores.

`StepModel.faster`, which takes a trial's gain, uses MOST_OUTSIDE and nothing else of it. The rest
is for a training on which nothing was tried, which is the usual one, and for what no trial can
follow (a callback's own code, another input): no trial makes any of it superfluous. On another
machine a trial is the better answer.
"""

SHORT_PAUSE_MS, LONG_PAUSE_MS = 0.5, 6.5
"""After shorter pauses than the one a step computes as quickly as without any; longer ones than the
other cost no more than that. See `benchmarks/pauses.py`."""

AFTER_WORK_MS, AFTER_WAITING_MS, OPTIMISTIC_PAUSE_MS = 1.3, 0.7, 0.9
"""By how much a step is quicker without long pauses of work or of waiting, and how far off that may
be: see `awake`."""

MOST_OF_COMPUTING = 0.6
"""A step saves at most so much of its computing when its pauses go: the most that one did."""

IN_PROCESSES = 1.5
"""Of the share of all cores that processes take to make batches, steps are so many times quicker
without: training hands the batches over, and its threads wait for one that has lost its core. It
was 1.4 to 3.6 on two cores, of epochs of 40 steps, which start them anew: see
`benchmarks/making_batches.py`."""

CROWDED = 0.7
"""Of the cores' time: what a pipeline kept busy whose end made computing faster."""

MOST_OUTSIDE = 0.5
"""Of a step as it was tried; where callbacks took more, they take less then, too."""

BUSY_THREADS, OPTIMISTIC_THREADS = 0.8, 0.15
"""Threads' worth of work that a thread does where training keeps the cores busy, and how far off
that may be: of nineteen programs with known bottlenecks. Where cores are idle it is a whole one."""

LESS_UNDISTURBED = 0.25, 0.25
"""By how much of the share that becomes free the quickest steps are quicker still, and how far off
that may be: see `with_less_work`."""
