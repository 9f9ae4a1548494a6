"""A GPU that is there and not used, or not by this training alone: what comes before all else."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed, listed
from keras_perf.analyse.hardware.gpu_busy import used_gpus
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import figure
from keras_perf.records.run.devices.gpu_use import GpuUse
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.settings import DEFAULT_STRATEGY

IDLE_PCT = 5.0
"""Utilization below which a GPU does nothing for this training."""

NOTICED = 0.1
"""Other processes, on average over the training."""

HALF_BUSY_PCT = 50.0

_IN_FIT = {
    TENSORFLOW: "Build and compile the model within tf.distribute.MirroredStrategy().scope()",
    JAX: (
        "Call keras.distribution.set_distribution(keras.distribution.DataParallel()) before the "
        "model is built"
    ),
}
_IN_A_LOOP = (
    "Train with tf.distribute.MirroredStrategy: experimental_distribute_dataset for the data and "
    "strategy.run in the step, as `keras-perf template` does"
)

INSTALL = "python -m pip install 'tensorflow[and-cuda]'"


def gpu_use_alerts(summary: Summary) -> Iterator[str]:
    """A sentence on what keeps the GPUs from being used, with the remedy; mostly nothing.

    Without a GPU that NVML lists there is nothing to say. What it cannot see: GPUs that a
    container or a scheduler keeps from this process, and others than NVIDIA's.
    """
    use = summary.facts.gpu_use
    if why := _no_gpu(use) or _begun_on_the_cpu(summary.facts):
        yield f"{_the_gpus(use)} not used: {why}"
        return
    yield from _model_on_the_cpu(use)
    if alone := idle_beside(summary):
        idle = f"GPU {alone[0]} is" if len(alone) == 1 else f"GPUs {listed(alone)} are"
        remedy = _IN_FIT[library_of(summary.facts)]
        if summary.facts.settings.in_a_loop:
            remedy = _IN_A_LOOP
        told = (
            f"{idle} idle while another one trains. {remedy}, which divides each batch among them: "
            "enlarge the batch by their number."
        )
        if summary.facts.settings.replicas > 1:
            told = f"{idle} idle while others train: the strategy was made for fewer devices."
        yield told
    for index, others, mib in _shared(summary):
        memory = f", which hold {mib:.0f} MiB of its memory" if mib else ""
        yield (
            f"GPU {index} is shared: other processes have it open ({figure(others)} on "
            f"average{memory}; nvidia-smi names them). Utilization and power are of all of them "
            "together. If they compute, they slow this training, which was not measured; memory "
            "that they hold does not."
        )


def shared_gpu_notes(run: Diagnosed) -> Iterator[str]:
    """Who else had a GPU when training began, which tells neither of later nor of computing."""
    for index, others_then in _shared_at_the_start(run.summary):
        yield (
            f"GPU {index} was shared when training began: other processes had it open "
            f"({others_then}; nvidia-smi names them). If they compute, they slow this training; "
            "GPUUtilizationSampler tells whether they still have it open."
        )


def gpu_details(facts: RunFacts) -> Iterator[str]:
    """That there is no GPU, to whoever asks for details: no failure, and no news to most."""
    use = facts.gpu_use
    if use.gpus_found == 0 and not use.machine_gpus and not use.driver_mismatch:
        yield "Neither NVML nor TensorFlow finds a GPU: CPU and memory were sampled without one."


def idle_beside(summary: Summary) -> list[int]:
    """TensorFlow's numbers of the GPUs that nobody computes on while another one trains."""
    busy, visible = summary.of_gpus("utilization_pct"), summary.facts.gpu_use.gpus_visible
    if busy:
        if visible is not None and len(busy) > visible:
            # CUDA could not be asked which are ours: all of the machine were sampled.
            return []
        own = {i: pct for i, pct in busy.items() if i in used_gpus(summary)} or busy
        first = max(own, key=own.__getitem__)
        if own[first] < HALF_BUSY_PCT:
            return []
        others = summary.of_gpus("other_processes")
        idle = [i for i, pct in busy.items() if pct < IDLE_PCT and not others.get(i)]
        return [i for i in idle if _alike(i, first, summary.facts)]
    use = summary.facts.gpu_use
    visible = visible or 0
    # Which of the machine's GPUs are TensorFlow's is known where it has all of them.
    whole = len(use.machine_gpus) == visible and not any(gpu.busy for gpu in use.machine_gpus)
    used = summary.facts.used_gpus
    return [i for i in range(visible) if i not in used] if whole and len(used) == 1 else []


def _alike(one: int, other: int, facts: RunFacts) -> bool:
    """Both GPUs are of one name, as far as that is known: beside a slower one a step waits."""
    gpus = facts.machine.training_gpus
    return max(one, other) >= len(gpus) or gpus[one].name == gpus[other].name


def _shared(summary: Summary) -> Iterator[tuple[int, float, float]]:
    """Number of a GPU, other processes on it, and their memory in MiB; 0 where not known."""
    memory, used = summary.of_gpus("other_memory_used_mib"), summary.facts.used_gpus
    for index, processes in summary.of_gpus("other_processes").items():
        if processes >= NOTICED and (not used or index in used):
            yield index, processes, memory.get(index, 0.0)


def _shared_at_the_start(summary: Summary) -> Iterator[tuple[int, int]]:
    """Number of a GPU and other processes that it had, where no sampler looked at it later.

    How busy it was then says nothing: that may have been this process, making its model.
    """
    use, used = summary.facts.gpu_use, summary.facts.used_gpus
    gpus = use.machine_gpus
    if summary.facts.settings.workers > 1:
        # The others may be this training's.
        return
    # NVML's numbers are TensorFlow's where it has all of them, of one kind.
    if len(gpus) != use.gpus_visible or len({gpu.name for gpu in gpus}) > 1:
        return
    if summary.of_gpus("other_processes") or summary.of_gpus("utilization_pct"):
        return
    for index, gpu in enumerate(gpus):
        if gpu.other_processes and (not used or index in used):
            yield index, gpu.other_processes


def _the_gpus(use: GpuUse) -> str:
    names = sorted({gpu.name for gpu in use.machine_gpus})
    if len(use.machine_gpus) == 1:
        return f"The GPU of this machine ({names[0]}) is"
    if not use.machine_gpus:
        return "The GPU is"
    return f"The {len(use.machine_gpus)} GPUs of this machine ({', '.join(names)}) are"


def _no_gpu(use: GpuUse) -> str:
    """Why TensorFlow has none of the machine's GPUs; "" where it has, or there is none."""
    if use.driver_mismatch and not use.gpus_visible:
        return (
            "NVIDIA's driver was updated while it was loaded (NVML: driver/library version "
            "mismatch). Restart the machine, or reload its kernel modules."
        )
    if not use.machine_gpus or use.gpus_visible != 0:
        return ""
    if use.cuda_build is False:
        return _no_cuda_build(use.system)
    hidden = use.cuda_visible_devices
    if not use.gpus_found and not _hides(hidden, use):
        return _not_found(use)
    if all(gpu.busy for gpu in use.machine_gpus):
        # Hidden, and somebody computes on each: that is meant.
        return ""
    if use.gpus_found:
        return (
            "tf.config.set_visible_devices leaves TensorFlow none. Unless that is meant, take out "
            "the call, or name the GPUs that it may use."
        )
    return (
        f"CUDA_VISIBLE_DEVICES={hidden!r} leaves this process none. Unless that is meant, unset "
        "it, or give the numbers of GPUs, before TensorFlow is imported."
    )


def _hides(visible_devices: str | None, use: GpuUse) -> bool:
    """`CUDA_VISIBLE_DEVICES` begins with what is no GPU: CUDA shows those before it."""
    if visible_devices is None or use.cuda_gpus:
        return False
    first = visible_devices.split(",")[0].strip()
    if first.isdigit():
        return int(first) >= len(use.machine_gpus)
    # What a UUID belongs to only CUDA says.
    return not first.startswith(("GPU-", "MIG-")) or use.cuda_gpus == 0


def _no_cuda_build(system: str) -> str:
    if system == "Windows":
        return (
            "TensorFlow trains on GPUs under Linux only, since 2.11 not on native Windows. "
            f"Train in WSL2: {INSTALL}"
        )
    return (
        "this TensorFlow was built without CUDA. "
        f"python -m pip uninstall tensorflow-cpu tensorflow; {INSTALL}"
    )


def _not_found(use: GpuUse) -> str:
    """TensorFlow is built for CUDA and finds nothing."""
    if not use.cuda_gpus:
        return (
            "CUDA shows none, though the driver does. See whether nvidia-smi works, whether the "
            "driver is as new as TensorFlow's CUDA needs, and what TensorFlow said when it began."
        )
    if use.missing_libraries:
        return (
            f"TensorFlow could not load {listed(use.missing_libraries)} of CUDA's libraries. "
            f"{INSTALL} brings them."
        )
    return (
        'TensorFlow takes none, and said why when it began: look for "Ignoring visible gpu '
        'device" (too old for it) or "Cannot dlopen some GPU libraries", which '
        f"{INSTALL} mends."
    )


def _begun_on_the_cpu(facts: RunFacts) -> str:
    """TensorFlow has a GPU, and training was begun where it is not the default; "" elsewhere."""
    use, strategy = facts.gpu_use, facts.settings.strategy
    if not use.gpus_visible or not (use.operations_on or "").startswith("CPU"):
        return ""
    if strategy not in (None, DEFAULT_STRATEGY):
        # It runs each replica's operations on that replica's own device.
        return ""
    return (
        "training began under with tf.device('/CPU:0'), so its operations run on the CPU. "
        "Build, compile and train the model outside of it."
    )


def _model_on_the_cpu(use: GpuUse) -> Iterator[str]:
    devices = use.variables_on
    if use.gpus_visible and devices and all(device.startswith("CPU") for device in devices):
        yield (
            f"The model is on the CPU, though TensorFlow has a GPU: its {sum(devices.values())} "
            "trainable variables are read and updated there, and copied in every step. with "
            "tf.device(…) or a strategy has put them there: build and compile the model without."
        )
