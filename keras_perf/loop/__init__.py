"""What a custom training loop under a strategy needs and nobody would edit.

`keras-perf template train.py` writes the loop itself, which is made to be copied and changed.
"""

from keras_perf.cluster.peers import EXIT_PEER_LOST, PeerError
from keras_perf.cluster.tf_config import ClusterError
from keras_perf.loop.chief_log import ChiefLog
from keras_perf.loop.data import batched, counted, iterate
from keras_perf.loop.distribution import KINDS, Distribution, distribute, exit_code
from keras_perf.loop.exchange import Exchange
from keras_perf.loop.gradients import GradientUpdate, accumulate, scaled
from keras_perf.loop.monitor import LoopMonitor
from keras_perf.loop.state import (
    EXIT_SAVED,
    Checkpoints,
    MovingStatistics,
    StopOnSignal,
    seed_states,
    split_seeds,
)

__all__ = [
    "EXIT_PEER_LOST",
    "EXIT_SAVED",
    "KINDS",
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
    "batched",
    "counted",
    "distribute",
    "exit_code",
    "iterate",
    "scaled",
    "seed_states",
    "split_seeds",
]
