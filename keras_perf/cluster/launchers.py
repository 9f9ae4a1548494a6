"""Which launcher started this worker: those that set TF_CONFIG, and Slurm."""

from __future__ import annotations

import json
from collections.abc import Mapping

from keras_perf.cluster.slurm import cluster_from_slurm
from keras_perf.cluster.tf_config import read_cluster


def with_tf_config(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment, with TF_CONFIG also where the launcher names several workers in its own way.

    Raises:
        ClusterError: TF_CONFIG is wrong, or Slurm's variables are.
    """
    if read_cluster(environ) is None and slurm_tasks(environ) > 1:
        return {**environ, "TF_CONFIG": json.dumps(cluster_from_slurm(environ))}
    return environ


def slurm_tasks(environ: Mapping[str, str]) -> int:
    """Tasks of the Slurm step that this process is one of; 0 outside of Slurm."""
    count = environ.get("SLURM_STEP_NUM_TASKS", "0")
    return int(count) if count.isdigit() and "SLURM_PROCID" in environ else 0
