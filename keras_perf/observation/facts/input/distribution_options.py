"""How a dataset is to be shared among workers and replicas."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

PREFIX = "experimental_"


def distribution_options(data: Any) -> dict[str, str]:
    """Name → value of the options that somebody has set to other than their defaults.

    `auto_shard_policy` of a `tf.data.Dataset`; of a `DistributedDataset` the fields of the
    `InputOptions` that it was made with, without `experimental_`. They are the private `_options`:
    where that is missing, nothing is said of them.
    """
    if isinstance(data, tf.data.Dataset):
        policy = data.options().experimental_distribute.auto_shard_policy
        usual = tf.data.experimental.AutoShardPolicy.AUTO
        return {} if policy == usual else {"auto_shard_policy": policy.name}
    options = getattr(data, "_options", None)
    if not isinstance(data, tf.distribute.DistributedDataset) or options is None:
        return {}
    if not isinstance(options, tf.distribute.InputOptions):
        return {}
    usual = tf.distribute.InputOptions()._asdict()
    changed = {name: value for name, value in options._asdict().items() if value != usual[name]}
    return {n.removeprefix(PREFIX): getattr(v, "name", str(v)) for n, v in changed.items()}


def options_of_iterator(iterator: Any) -> dict[str, str]:
    """Of what a `DistributedIterator` runs over on this worker; nothing for any other iterator.

    It is the private `_dataset` of the first of its `_iterators`: where these are missing, a loop
    on several workers is not told that its dataset is not sharded.
    """
    if not isinstance(iterator, tf.distribute.DistributedIterator):
        return {}
    first, *_ = getattr(iterator, "_iterators", None) or [None]
    return distribution_options(getattr(first, "_dataset", None))
