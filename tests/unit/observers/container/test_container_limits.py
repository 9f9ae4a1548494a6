"""What a container may use, from written files of control groups."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_perf.observers.container import limits as module
from keras_perf.observers.container.limits import (
    ContainerMemory,
    QuotaPeriods,
    container_cpus,
    container_memory,
    memory_available_mib,
    quota_periods,
)
from keras_perf.records.run.machine import Machine

MIB = 2**20


def machine(root: Path, groups: str, files: dict[str, str | int]) -> Path:
    for name, content in {"proc/self/cgroup": groups, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(content))
    return root


def version_2(group: str, limit: str | int, used_mib: int, files_mib: int = 0) -> dict[str, object]:
    folder = f"sys/fs/cgroup/{group}"
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": used_mib * MIB,
        f"{folder}/memory.stat": f"anon 1\ninactive_file {files_mib * MIB}\n",
    }


def test_files_that_the_kernel_lets_go_of_are_free(tmp_path):
    root = machine(tmp_path, "0::/\n", version_2("", 1000 * MIB, 700, files_mib=200))
    assert container_memory(root) == ContainerMemory(1000.0, 500.0)


def test_the_group_nearest_to_its_limit_counts(tmp_path):
    inner, outer = version_2("job/task", 1000 * MIB, 100), version_2("job", 800 * MIB, 300)
    root = machine(tmp_path, "0::/job/task\n", inner | outer)
    assert container_memory(root) == ContainerMemory(800.0, 500.0)


def test_version_1_tells_it_too(tmp_path):
    folder = "sys/fs/cgroup/memory"
    files = {
        f"{folder}/memory.limit_in_bytes": 500 * MIB,
        f"{folder}/memory.usage_in_bytes": 400 * MIB,
        f"{folder}/memory.stat": f"total_inactive_file {100 * MIB}\n",
    }
    root = machine(tmp_path, "3:cpuset:/\n2:memory:/docker/abc\n0::/\n", files)
    assert container_memory(root) == ContainerMemory(500.0, 200.0)


@pytest.mark.parametrize("limit", ["max", 2**63 - 4096, "nonsense"])
def test_without_a_limit_the_machine_s_memory_counts(limit, tmp_path):
    assert container_memory(machine(tmp_path, "0::/\n", version_2("", limit, 700))) is None


def test_without_control_groups_nothing_is_known(tmp_path):
    assert container_memory(tmp_path) is None


def test_this_machine_answers():
    found = container_memory()
    assert found is None or 0 <= found.available_mib <= found.limit_mib


@pytest.mark.parametrize(
    ("container", "available_mib"),
    [(None, 900.0), (ContainerMemory(700.0, 100.0), 100.0), (ContainerMemory(4e3, 2e3), 900.0)],
)
def test_what_may_still_be_used_is_the_less_of_machine_and_container(
    monkeypatch, container, available_mib
):
    of_machine = SimpleNamespace(available=900 * 2**20)
    monkeypatch.setattr(module.psutil, "virtual_memory", lambda: of_machine)
    monkeypatch.setattr(module, "container_memory", lambda: container)
    assert memory_available_mib() == available_mib


@pytest.mark.parametrize(
    ("told", "expected"),
    [("800000 100000\n", 8.0), ("150000 100000", 1.5), ("max 100000", None), ("nonsense", None)],
)
def test_a_quota_is_a_number_of_cpus(told, expected, tmp_path):
    root = machine(tmp_path, "0::/\n", {"sys/fs/cgroup/cpu.max": told})
    assert container_cpus(root) == expected


def test_the_group_that_may_use_the_fewest_counts(tmp_path):
    files = {
        "sys/fs/cgroup/job/task/cpu.max": "max 100000",
        "sys/fs/cgroup/job/cpu.max": "200000 100000",
        "sys/fs/cgroup/cpu.max": "600000 100000",
    }
    assert container_cpus(machine(tmp_path, "0::/job/task\n", files)) == 2.0


@pytest.mark.parametrize(("quota", "expected"), [(250_000, 2.5), (-1, None)])
def test_version_1_tells_the_quota_too(quota, expected, tmp_path):
    folder = "sys/fs/cgroup/cpu,cpuacct/docker/abc"
    files = {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": 100_000}
    groups = "3:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n"
    assert container_cpus(machine(tmp_path, groups, files)) == expected


def test_without_control_groups_all_cpus_may_be_used(tmp_path):
    assert container_cpus(tmp_path) is None


@pytest.mark.parametrize(("cpus", "cores"), [(None, 16), (8.0, 8), (2.5, 3), (0.5, 1), (64.0, 16)])
def test_no_more_cores_count_than_the_container_may_use(cpus, cores):
    assert Machine(cpu_count=16, container_cpus=cpus).cores == cores


STAT = "nr_periods 70\nnr_throttled 30\nthrottled_usec 12345\n"


def test_the_periods_are_those_of_the_smallest_quota(tmp_path):
    files = {
        "sys/fs/cgroup/job/cpu.max": "200000 100000",
        "sys/fs/cgroup/job/cpu.stat": f"usage_usec 5\n{STAT}",
        "sys/fs/cgroup/cpu.max": "600000 100000",
        "sys/fs/cgroup/cpu.stat": "nr_periods 1\nnr_throttled 1\n",
    }
    assert quota_periods(machine(tmp_path, "0::/job\n", files)) == QuotaPeriods(70, 30)


def test_version_1_tells_the_periods_too(tmp_path):
    folder = "sys/fs/cgroup/cpu,cpuacct/docker"
    files = {
        f"{folder}/cpu.cfs_quota_us": 50_000,
        f"{folder}/cpu.cfs_period_us": 100_000,
        f"{folder}/cpu.stat": STAT,
    }
    assert quota_periods(machine(tmp_path, "2:cpu,cpuacct:/docker\n", files)) == (70, 30)


@pytest.mark.parametrize("stat", [None, "usage_usec 5\n", "nonsense"])
def test_without_a_quota_or_its_counts_no_periods_are_known(stat, tmp_path):
    assert quota_periods(tmp_path) is None
    told = {} if stat is None else {"sys/fs/cgroup/cpu.stat": stat}
    files = {"sys/fs/cgroup/cpu.max": "200000 100000", **told}
    assert quota_periods(machine(tmp_path, "0::/\n", files)) is None
