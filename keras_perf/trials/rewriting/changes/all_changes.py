"""All kinds of changes, in the order in which they are tried."""

from __future__ import annotations

from pathlib import Path

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.allowed import NOTHING, Allowed
from keras_perf.trials.rewriting.array_batches import ArrayBatches
from keras_perf.trials.rewriting.changes.batch_before_map import batches_before_maps
from keras_perf.trials.rewriting.changes.cache import cache
from keras_perf.trials.rewriting.changes.change import Change, NotDone
from keras_perf.trials.rewriting.changes.file_cache import in_file
from keras_perf.trials.rewriting.changes.filter_before_map import filters_before_maps
from keras_perf.trials.rewriting.changes.in_parallel import parallel_interleaves, parallel_maps
from keras_perf.trials.rewriting.changes.map_before_shuffle import maps_before_shuffles
from keras_perf.trials.rewriting.changes.prefetch import prefetch
from keras_perf.trials.rewriting.changes.stages import lets_overtake
from keras_perf.trials.rewriting.changes.whole_pipeline import order_given_up, wider_pool
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def possible_changes(
    graph: PipelineGraph, allowed: Allowed = NOTHING, cache_dir: Path | None = None
) -> tuple[list[Change], list[NotDone]]:
    """In the order in which they are tried, and what is not.

    Arguments:
        graph: of the dataset as it is.
        allowed: what may change of the elements.
        cache_dir: where a cache may keep elements that do not fit into memory.
    """
    if isinstance(graph, ArrayBatches):
        return [], [NotDone("changes of the input", "arrays", WhyNotTried.KERAS_BATCHES.of())]
    # What the caller does not allow, the options of a pipeline that never used them do not either.
    in_order = not allowed.order and lets_overtake(graph)
    kinds = (
        filters_before_maps(graph),
        batches_before_maps(graph),
        parallel_interleaves(graph, in_order=in_order),
        parallel_maps(graph, in_order=in_order, draws_others=allowed.random_numbers),
        wider_pool(graph),
        prefetch(graph),
        maps_before_shuffles(graph),
        cache(graph),
        order_given_up(graph, allowed=allowed.order),
    )
    found: list[Change] = []
    left: list[NotDone] = []
    for each in (each for kind in kinds for each in kind):
        if isinstance(each, NotDone):
            left.append(each)
            continue
        found.append(each)
        if each.costs_kept is not None and cache_dir is not None:
            found.append(in_file(each, each.costs_kept, cache_dir))
    return found, left
