"""What the pipeline does while the thread that trains computes nothing."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.step.step_model import StepModel, between


def done_beside_computing(model: StepModel, gone_ms: float, optimism: float) -> StepModel:
    """What the pipeline did on other cores while hooks ran, it does beside computing without them.

    A step computes for longer by as much of all cores. At best it did nothing meanwhile, at worst
    as much as those cores could; as its work lies evenly is expected. (Four trainings whose
    pipeline works 1.4 ms for a batch, with a hook of 0.6 to 0.8 ms in steps of 2.4 to 3 ms on two
    cores, were 0.94 to 1.25 times as fast without; 1.4 times was expected before.)
    """
    computing_ms = model.rest.get("compute", 0.0)
    if model.on_gpu or not (model.prefetched and computing_ms and model.step_ms):
        return model
    work_ms = model.work_ms(model.stages)
    most_ms = min(work_ms, gone_ms * (model.cores - 1))
    evenly_ms = min(most_ms, work_ms * gone_ms / model.step_ms)
    moved_ms = between(most_ms, evenly_ms, 0.0, optimism)
    return replace(model, rest={**model.rest, "compute": computing_ms + moved_ms / model.cores})
