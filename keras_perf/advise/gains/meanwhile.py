"""What the pipeline does while the thread that trains computes nothing."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.making import made_by_training
from keras_perf.advise.step.step_model import StepModel, between


def worked_ms(situation: Situation, spent_ms: float) -> float:
    """Of what Python code beside computing took, so much may have been work: the rest it slept.

    All threads together used no more CPU time than was sampled, and computing as much as the
    quickest steps take; beside other programs work takes longer than its CPU time. (A hook that
    slept 4 ms, in steps of 6.5 ms behind a map that slept 6 ms, was believed to hold up the map,
    and steps to become 1.14 times as fast without; they did not.)
    """
    model, left = situation.model, situation.share_of_cores
    if not model.cpu_ms:
        return spent_ms
    computing_ms = 0.0 if model.on_gpu else model.rest.get("compute", 0.0)
    if model.undisturbed_ms is None:
        computing_ms *= left
    else:
        computing_ms = min(computing_ms, model.undisturbed_ms)
    return min(spent_ms, max(0.0, model.cpu_ms - computing_ms) / left)


def not_held_up_by_hooks(
    situation: Situation, model: StepModel, gone_ms: float, optimism: float
) -> StepModel:
    """Only what works holds Python's interpreter, and only what works waits for it."""
    if not model.produce_ms:
        return model
    at_work = worked_ms(situation, model.produce_ms) / model.produce_ms
    return model.not_held_up(worked_ms(situation, gone_ms), optimism, at_work)


def done_beside_computing(
    situation: Situation, model: StepModel, gone_ms: float, optimism: float
) -> StepModel:
    """What the pipeline did on other cores while hooks ran, it does beside computing without them.

    A step computes for longer by as much of all cores, as far as these are busy. At best it did
    nothing meanwhile, at worst as much as those cores could; as its work lies evenly is expected.
    (Four trainings whose pipeline works 1.4 ms for a batch, with a hook of 0.6 to 0.8 ms in steps
    of 2.4 to 3 ms on two cores, were 0.94 to 1.25 times as fast without; 1.4 times was expected
    before.) Work is what CPU time shows, where it was sampled.

    Arguments:
        situation: as it was measured.
        model: of which hooks will take less.
        gone_ms: how much less.
        optimism: from −1 to +1.
    """
    computing_ms = model.rest.get("compute", 0.0)
    if model.on_gpu or not (model.prefetched and computing_ms and model.step_ms):
        return model
    if made_by_training(situation.facts):
        # The thread that ran the hooks makes the batches too.
        return model
    work_ms = (1 - model.waiting_share) * model.work_ms(model.stages)
    if model.cpu_ms:
        work_ms = min(work_ms, max(0.0, model.cpu_ms - computing_ms))
    most_ms = min(work_ms, gone_ms * (model.cores - 1))
    evenly_ms = min(most_ms, work_ms * gone_ms / model.step_ms)
    moved_ms = between(most_ms, evenly_ms, 0.0, optimism)
    longer_ms = situation.model.crowded * moved_ms / model.cores
    return replace(model, rest={**model.rest, "compute": computing_ms + longer_ms})
