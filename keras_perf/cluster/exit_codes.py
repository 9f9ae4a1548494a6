"""What a worker's exit code says to the launcher that may restart it."""

from __future__ import annotations

# A checkpoint was saved on SIGTERM; TensorFlow's PreemptionCheckpointHandler exits with it too.
EXIT_SAVED = 42
EXIT_PEER_LOST = 43
