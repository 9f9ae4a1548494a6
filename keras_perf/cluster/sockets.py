"""Sockets between workers: to listen where TensorFlow will, and to ask who answers."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket

from keras_perf.cluster.handshake import ANSWER_BYTES, Hello, Verdict, unpack_answer

ATTEMPT_S = 5.0
"""After so long without an answer a call is given up."""


def require_free(port: int) -> None:
    """TensorFlow's server will want it on all interfaces.

    Raises:
        OSError: somebody listens on one of them.
    """
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("", port))


def listen(host: str, port: int) -> socket.socket:
    """On `host` where that is an address of this machine, else on all interfaces.

    A machine's own name may be 127.0.1.1 in its /etc/hosts, where no other machine reaches it.
    """
    with contextlib.suppress(socket.gaierror, UnicodeError):
        for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            if _is_loopback(str(address[0])) and not _means_loopback(host):
                continue
            try:
                return socket.create_server(address, family=family)
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def _means_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return _is_loopback(host)
    return host.lower() == "localhost"


def _is_loopback(address: str) -> bool:
    """Raises ValueError for a name."""
    return ipaddress.ip_address(address).is_loopback


def ask(called: socket.socket, hello: Hello) -> tuple[Verdict, int] | None:
    """What the process at the other end says to a hello; None if it does not know how."""
    called.settimeout(ATTEMPT_S)
    answer = b""
    with contextlib.suppress(OSError):
        called.sendall(hello.pack())
        while len(answer) < ANSWER_BYTES:
            heard = called.recv(ANSWER_BYTES - len(answer))
            if not heard:
                break
            answer += heard
    return unpack_answer(answer)
