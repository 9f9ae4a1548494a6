"""What a custom training loop under a strategy needs and nobody would edit.

`keras-perf template train.py` writes the loop itself, which is made to be copied and changed.
"""

from keras_perf.cluster.exit_codes import EXIT_SAVED
from keras_perf.cluster.peers import EXIT_PEER_LOST, PeerError
from keras_perf.cluster.tf_config import ClusterError
from keras_perf.loop.arguments import positive
from keras_perf.loop.chief_log import ChiefLog, results_of
from keras_perf.loop.data import (
    as_count,
    batched,
    count_batches,
    counted,
    iterate,
    own_files,
    part_of,
)
from keras_perf.loop.distribution import KINDS, KINDS_HELP, Distribution, distribute, exit_code
from keras_perf.loop.ending import StopOnSignal, leave
from keras_perf.loop.exchange import Exchange
from keras_perf.loop.gradients import GradientUpdate, accumulate, scaled
from keras_perf.loop.monitor import LoopMonitor
from keras_perf.loop.state import (
    Checkpoints,
    MovingStatistics,
    seed_states,
    split_seeds,
)

__all__ = [
    "EXIT_PEER_LOST",
    "EXIT_SAVED",
    "KINDS",
    "KINDS_HELP",
    "Checkpoints",
    "ChiefLog",
    "ClusterError",
    "Distribution",
    "Exchange",
    "GradientUpdate",
    "LoopMonitor",
    "MovingStatistics",
    "PeerError",
    "StopOnSignal",
    "accumulate",
    "as_count",
    "batched",
    "count_batches",
    "counted",
    "distribute",
    "exit_code",
    "iterate",
    "leave",
    "own_files",
    "part_of",
    "positive",
    "results_of",
    "scaled",
    "seed_states",
    "split_seeds",
]
