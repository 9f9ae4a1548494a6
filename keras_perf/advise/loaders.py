"""How Grain and torch are told to make batches in several processes."""

from __future__ import annotations

from keras_perf.records.run.input.loader import Loader
from keras_perf.records.run.run_facts import RunFacts

SLICES = "\n# each process makes batches of a slice of its own"

AS_THEY_ARE = ": batch() before to_iter_dataset()\n# keeps them as they are"

PARTS = (
    "\n# each worker runs the whole __iter__: let it take its part, by\n"
    "# torch.utils.data.get_worker_info(), or each example comes once from each of them"
)


def reads_in_threads(facts: RunFacts) -> bool:
    """Threads of Grain's read examples in this process, several at a time."""
    loader = facts.input.loader
    return loader is not None and not loader.workers and bool(loader.read_threads)


def with_processes(facts: RunFacts, workers: int) -> str:
    """Code that sets so many, and what goes with it where that is not set already."""
    loader, again = facts.input.loader, (facts.length.epochs or 1) > 1
    if facts.input.input_kind == "DataLoader":
        kept = ", persistent_workers=True" if again and not (loader and loader.persistent) else ""
        parts = PARTS if loader is not None and loader.iterates else ""
        return f"loader = torch.utils.data.DataLoader(..., num_workers={workers}{kept}){parts}"
    once = f"\n# {started_once(loader)}" if again else ""
    if loader is not None and loader.kind == "DataLoader":
        return f"loader = grain.DataLoader(..., worker_count={workers}){SLICES}{once}"
    dataset = "dataset"
    if loader is None or loader.kind == "MapDataset":
        dataset = "dataset.to_iter_dataset()"
    of_iterator = loader is not None and loader.kind == "IterDataset"
    slices = SLICES + AS_THEY_ARE if of_iterator else ""
    place = "  # in place of the present mp_prefetch" if loader and loader.workers else ""
    return (
        f"options = grain.MultiprocessingOptions(num_workers={workers})\n"
        f"dataset = {dataset}.mp_prefetch(options){place}{slices}{once}"
    )


def started_once(loader: Loader | None) -> str:
    """What keeps Grain's processes from being started in each epoch."""
    endless = "repeat() before to_iter_dataset()"
    if loader is not None and loader.kind == "DataLoader":
        endless = "a sampler with num_epochs=None"
    return f"{endless}, and steps_per_epoch in fit, start the processes once, not in each epoch"
