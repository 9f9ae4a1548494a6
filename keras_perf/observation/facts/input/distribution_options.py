"""How a dataset is to be shared among workers and replicas."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import tensorflow as tf

PREFIX = "experimental_"

NOT_SHARDED = {"auto_shard_policy": "NONE"}
"""No policy of TensorFlow's: it shards nothing of what a function gives each worker."""

_TAKES_A_PART = "_ShardDataset"
"""The class of the stage `shard`."""

_PICKED: WeakSet[Any] = WeakSet()


def picked_by_the_worker(iterator: Any) -> Any:
    """The iterator, of which is known that its function gives each worker a part of its own."""
    _PICKED.add(iterator)
    return iterator


def distribution_options(data: Any) -> dict[str, str]:
    """Name → value of the options that somebody has set to other than their defaults.

    `auto_shard_policy` of a `tf.data.Dataset`; of a `DistributedDataset` the fields of the
    `InputOptions` that it was made with, without `experimental_`. They are the private `_options`:
    where that is missing, nothing is said of them. Of `distribute_datasets_from_function`, whose
    class and whose `_datasets` are private too, that nothing shards it.
    """
    if isinstance(data, tf.data.Dataset):
        policy = data.options().experimental_distribute.auto_shard_policy
        usual = tf.data.experimental.AutoShardPolicy.AUTO
        return {} if policy == usual else {"auto_shard_policy": policy.name}
    if not isinstance(data, tf.distribute.DistributedDataset):
        return {}
    first, *_ = getattr(data, "_datasets", None) or [None]
    of_a_function = type(data).__name__ == "DistributedDatasetsFromFunction"
    told = NOT_SHARDED if of_a_function and _TAKES_A_PART not in _kinds(first) else {}
    options = getattr(data, "_options", None)
    if not isinstance(options, tf.distribute.InputOptions):
        return told
    usual = tf.distribute.InputOptions()._asdict()
    changed = {name: value for name, value in options._asdict().items() if value != usual[name]}
    return told | {n.removeprefix(PREFIX): getattr(v, "name", str(v)) for n, v in changed.items()}


def options_of_iterator(iterator: Any) -> dict[str, str]:
    """Of what a `DistributedIterator` runs over on this worker; nothing for any other iterator.

    It is the private `_dataset` of the first of its `_iterators`: where these are missing, a loop
    on several workers is not told that its dataset is not sharded.
    """
    if not isinstance(iterator, tf.distribute.DistributedIterator):
        return {}
    first, *_ = getattr(iterator, "_iterators", None) or [None]
    dataset = getattr(first, "_dataset", None)
    options, kinds = distribution_options(dataset), _kinds(dataset)
    if not kinds or "_AutoShardDataset" in kinds or options.get("auto_shard_policy") == "OFF":
        return options
    return {} if iterator in _PICKED or _TAKES_A_PART in kinds else NOT_SHARDED


def _kinds(dataset: Any) -> set[str]:
    """The classes of a dataset's stages; those that the private `_inputs` tell of."""
    kinds: set[str] = set()
    left = [dataset] if isinstance(dataset, tf.data.Dataset) else []
    while left:
        stage = left.pop()
        kinds.add(type(stage).__name__)
        left += stage._inputs() if hasattr(stage, "_inputs") else ()
    return kinds
