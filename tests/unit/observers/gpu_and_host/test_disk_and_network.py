"""Disk, network and swap, from a scripted psutil."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from keras_perf.observers.sensors import disk_and_network
from keras_perf.observers.sensors.disk_and_network import EVERY_S, DiskAndNetworkReader
from keras_perf.records.metrics.host_metrics import DISK_AND_NETWORK_METRICS

MIB = 1024 * 1024


def disk(read: float, written: float, busy_ms: float) -> SimpleNamespace:
    return SimpleNamespace(
        read_bytes=read * MIB, write_bytes=written * MIB, busy_time=busy_ms, read_count=1
    )


class ScriptedPsutil:
    """All counters grow by `rate` MiB a second; the second disk is busy for half of the time."""

    Error = RuntimeError

    def __init__(self) -> None:
        self.seconds, self.rate = 0.0, 2.0

    @property
    def mib(self) -> float:
        return 100 + self.rate * self.seconds

    def swap_memory(self) -> SimpleNamespace:
        return SimpleNamespace(sin=self.mib * MIB, sout=2 * self.mib * MIB)

    def net_io_counters(self, pernic: bool) -> dict[str, SimpleNamespace]:
        card = SimpleNamespace(bytes_recv=3 * self.mib * MIB, bytes_sent=4 * self.mib * MIB)
        return {"eth0": card, "lo": SimpleNamespace(bytes_recv=9e15 * self.mib, bytes_sent=0)}

    def disk_io_counters(self, perdisk: bool) -> dict[str, SimpleNamespace]:
        busy = disk(5 * self.mib, 6 * self.mib, 500 * self.seconds)
        idle = disk(0.0, 0.0, 10 * self.seconds)
        others = dict.fromkeys(("nvme0n1p1", "sda1", "dm-0", "loop0", "md0"), busy)
        return {"sda": idle, "nvme0n1": busy, **others}

    def Process(self) -> SimpleNamespace:  # noqa: N802  psutil's name
        return SimpleNamespace(io_counters=lambda: SimpleNamespace(write_bytes=7 * self.mib * MIB))


@pytest.fixture
def machine(monkeypatch) -> ScriptedPsutil:
    scripted = ScriptedPsutil()
    monkeypatch.setattr(disk_and_network, "psutil", scripted)
    return scripted


@pytest.fixture
def reader(machine) -> DiskAndNetworkReader:
    reader = DiskAndNetworkReader(lambda: machine.seconds)
    assert reader.read() == {}
    return reader


def test_rates_are_over_the_time_since_the_last_reading(reader, machine):
    machine.seconds = 5.0
    assert reader.read() == pytest.approx(
        {
            "host/swapped_in_mib_per_sec": 2.0,
            "host/swapped_out_mib_per_sec": 4.0,
            "host/network_received_mib_per_sec": 6.0,
            "host/network_sent_mib_per_sec": 8.0,
            "host/disk_read_mib_per_sec": 10.0,
            "host/disk_written_mib_per_sec": 12.0,
            "host/disk_busy_pct": 50.0,
            "host/write_mib_per_sec": 14.0,
        }
    )


def test_every_one_of_its_metrics_is_read(reader, machine):
    machine.seconds = 5.0
    assert set(reader.read()) == {metric.tag for metric in DISK_AND_NETWORK_METRICS}


def test_asked_again_early_it_reads_nothing(reader, machine, monkeypatch):
    machine.seconds = EVERY_S - 0.1
    monkeypatch.setattr(disk_and_network, "psutil", None)
    assert reader.read() == {}


def test_a_counter_that_is_set_back_is_left_out_once(reader, machine):
    machine.seconds, machine.rate = 5.0, -1.0
    assert set(reader.read()) == {"host/disk_busy_pct"}
    machine.seconds, machine.rate = 10.0, 2.0
    assert len(reader.read()) == len(DISK_AND_NETWORK_METRICS)


@pytest.mark.fault(2, "counters of disk or network that the system hides")
@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("swap_memory", {"host/swapped_in_mib_per_sec", "host/swapped_out_mib_per_sec"}),
        (
            "net_io_counters",
            {"host/network_received_mib_per_sec", "host/network_sent_mib_per_sec"},
        ),
        ("Process", {"host/write_mib_per_sec"}),
    ],
)
def test_what_the_system_hides_costs_no_other_value(name, missing, machine, monkeypatch):
    def hidden(**_: bool) -> None:
        raise PermissionError("/proc is hidden")

    monkeypatch.setattr(machine, name, hidden)
    reader = DiskAndNetworkReader(lambda: machine.seconds)
    reader.read()
    machine.seconds = 5.0
    assert {m.tag for m in DISK_AND_NETWORK_METRICS} - set(reader.read()) == missing


@pytest.mark.parametrize(
    ("in_folders", "received"),
    [
        (("eth0/device", "eth0/brport", "bond0/bonding", "docker0/bridge"), 6.0),
        (("bond0/lower_eth0", "docker0/tun_flags"), 6.0),
        ((), 18.0),
    ],
)
def test_what_goes_through_a_card_counts_once(in_folders, received, machine, monkeypatch, tmp_path):
    for name in in_folders:
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(disk_and_network, "INTERFACES", tmp_path)
    counted = machine.net_io_counters

    def with_others(pernic: bool) -> dict[str, SimpleNamespace]:
        found = counted(pernic)
        return {**found, "bond0": found["eth0"], "docker0": found["eth0"]}

    monkeypatch.setattr(machine, "net_io_counters", with_others)
    reader = DiskAndNetworkReader(lambda: machine.seconds)
    reader.read()
    machine.seconds = 5.0
    assert reader.read()["host/network_received_mib_per_sec"] == pytest.approx(received)


def test_a_system_without_disks_of_its_own_or_their_clocks_leaves_them_out(machine, monkeypatch):
    reader = DiskAndNetworkReader(lambda: machine.seconds)
    plain = SimpleNamespace(read_bytes=0, write_bytes=0)
    monkeypatch.setattr(machine, "disk_io_counters", lambda perdisk: {"disk0": plain})
    reader.read()
    machine.seconds = 5.0
    assert "host/disk_busy_pct" not in reader.read()
    monkeypatch.setattr(machine, "disk_io_counters", lambda perdisk: None)
    machine.seconds = 10.0
    assert not [tag for tag in reader.read() if "disk" in tag]


def test_a_real_machine_answers():
    times = iter((0.0, 5.0))
    reader = DiskAndNetworkReader(lambda: next(times))
    reader.read()
    found = reader.read()
    assert found
    assert all(value >= 0 for value in found.values())
    reader.close()
