"""A connection to another worker, and what has come over it."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from keras_perf.cluster.handshake import MESSAGE_BYTES, Kind, unpack_message


@dataclass(eq=False)
class Line:
    """A connection; `rank` is None until the caller has said who it is."""

    socket: socket.socket
    rank: int | None = None
    process: bytes = b""
    heard: bytearray = field(default_factory=bytearray)

    def hear(self) -> bool:
        """Takes what there is; False at the end."""
        try:
            heard = self.socket.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.heard += heard
        return bool(heard)

    def words(self) -> list[tuple[Kind, int]]:
        """The whole messages that were heard: what, and about which worker."""
        found = []
        while len(self.heard) >= MESSAGE_BYTES:
            message = unpack_message(bytes(self.heard[:MESSAGE_BYTES]))
            del self.heard[:MESSAGE_BYTES]
            if message is not None:
                found.append(message)
        return found
