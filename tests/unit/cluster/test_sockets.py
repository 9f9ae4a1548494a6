"""Where a worker listens: where the others reach it."""

from __future__ import annotations

import errno
import socket

import pytest

from keras_perf.cluster.sockets import listen

NODE = "node1"
LOOPBACK = (socket.AF_INET, "127.0.1.1")
ELSEWHERE = (socket.AF_INET, "192.0.2.1")  # for documentation: no machine has it
ALL_INTERFACES = ("0.0.0.0", "::")


@pytest.fixture
def named(monkeypatch):
    """Gives NODE its addresses, as /etc/hosts does."""

    def resolve(*addresses):
        monkeypatch.setattr(
            "keras_perf.cluster.sockets.socket.getaddrinfo",
            lambda host, port, type: [
                (family, type, 0, "", (address, port)) for family, address in addresses
            ],
        )

    return resolve


def address_of(host):
    with listen(host, 0) as listener:
        return listener.getsockname()[0]


@pytest.mark.parametrize("addresses", [[LOOPBACK], [LOOPBACK, ELSEWHERE], []])
def test_a_name_that_means_loopback_here_is_reached_from_elsewhere(addresses, named):
    named(*addresses)
    assert address_of(NODE) in ALL_INTERFACES


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "localhost", "LocalHost"])
def test_who_asks_for_loopback_is_reached_there_only(host):
    assert address_of(host) not in ALL_INTERFACES


def test_an_address_that_others_reach_comes_before_all_interfaces(named, monkeypatch):
    tried = []

    def create_server(address, **_):
        tried.append(address[0])
        raise OSError(errno.EADDRINUSE, "taken")

    monkeypatch.setattr("keras_perf.cluster.sockets.socket.create_server", create_server)
    named(LOOPBACK, ELSEWHERE)
    with pytest.raises(OSError, match="taken"):
        listen(NODE, 0)
    assert tried == ["192.0.2.1"]
