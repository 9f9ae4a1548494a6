"""The comparison for a real GPU, rehearsed on the stand-in library and a load that is none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import types
from functools import partial
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "on_a_gpu"
ANYTHING, SM, OCCUPANCY, TENSOR, DRAM, SENT, RECEIVED = 1, 2, 3, 5, 10, 20, 21
"""Of nvmlGpmMetricId_t."""
SMI = "90, 1000, 312.5, 61, 1980, 16, 16, 5, 5, 1980"
SIZE = 8192
TIMES_PER_S = {
    "product": 0.7 * 989e12 / (2 * SIZE**3),
    "elementwise": 1e4,
    "copy": 0.85 * 4.8e12 / (4 * SIZE**2),
    "upload": 0.95 * 20_000 / (2 * SIZE**2 / 2**20),
    "download": 0.95 * 10_000 / (2 * SIZE**2 / 2**20),
}
"""Of each work, so that an H200 is as busy with it as it says."""


class Array:
    """Multiplied or not, it takes a moment, and parts of the GPU are said to be busy or not."""

    kept = False
    """What was handed back once."""

    def __init__(self, nvml) -> None:
        self.nvml, self.handed_back = nvml, False

    def busy(self, **shares):
        for metric, share in ((SM, "sm"), (TENSOR, "tensor"), (DRAM, "dram")):
            self.nvml.gpm(metric, shares[share])
        self.nvml.gpm(OCCUPANCY, shares.get("warps", 0.8) * shares["sm"])

    def __matmul__(self, other):
        self.nvml.gpm(SENT, 0.0)
        self.nvml.gpm(RECEIVED, 0.0)
        self.busy(sm=95.0, tensor=70.0, dram=20.0, warps=0.2)

    def sin(self):
        self.busy(sm=90.0, tensor=0.5, dram=50.0)
        return 1.0

    def clone(self):
        self.busy(sm=80.0, tensor=0.0, dram=85.0)

    def cpu(self):
        self.nvml.gpm(RECEIVED, 0.0)
        self.nvml.gpm(SENT, 0.0 if self.kept and self.handed_back else 10_000.0)
        self.handed_back = True
        return self

    def to(self, device):
        self.nvml.gpm(SENT, 0.0)
        self.nvml.gpm(RECEIVED, 20_000.0)


@pytest.fixture
def readings(nvml, tmp_path, monkeypatch):
    """The benchmark in small: a GPU, a PyTorch and an nvidia-smi that agree with each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import gpu_checks
    import gpu_loads
    import gpu_readings

    nvml.set(nvml.add("GPU-1"), has_gpm=1, counting=1)
    nvml.gpm(ANYTHING, 90.0)
    nvml.process(os.getpid(), 900)
    reader = partial(gpu_readings.NvmlReader, cuda=nvml.cuda)
    for asks in (gpu_checks, gpu_readings):
        monkeypatch.setattr(asks, "NvmlReader", reader)
    torch = types.SimpleNamespace(
        bfloat16=None,
        randn=lambda *size, **options: Array(nvml),
        sin=Array.sin,
        cuda=types.SimpleNamespace(synchronize=lambda: None),
    )
    for name, module in (("torch", torch), ("jax", None), ("tensorflow", None)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(gpu_loads, "find_spec", lambda name: None if name == "jax" else name)
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    others = '*reasons*) echo 0x0;; *compute-apps*) echo "$PPID, ${MIB:-900}";;'
    tool.write_text(f'#!/bin/sh\ncase "$*" in {others} *) echo "{SMI}";; esac\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    small = {"INTERVAL_S": 0.02, "SETTLE_S": 0.01, "ASKED_S": 0.3, "SAMPLES": 3, "STARTS": 3}
    for name, value in small.items():
        monkeypatch.setattr(gpu_readings, name, value)
    run = gpu_readings.run

    def asleep_at_times(work, share, seconds):
        if not share:
            Array(nvml).busy(sm=0.5, tensor=0.0, dram=0.0)
        begin = time.monotonic()
        assert (run(work, share, seconds) > 0) is bool(share)
        made, took_s = made_load["is"], time.monotonic() - begin
        [kind] = [each for each in TIMES_PER_S if getattr(made, each) is work]
        return share * took_s * TIMES_PER_S[kind]

    made_load, load = {}, gpu_readings.load

    def keeps_load():
        made_load["is"] = load()._replace(size=SIZE)
        return made_load["is"]

    monkeypatch.setattr(gpu_readings, "load", keeps_load)

    monkeypatch.setattr(gpu_readings, "run", asleep_at_times)
    # Of half a second, on a machine that may be busy.
    monkeypatch.setattr(gpu_readings, "ENERGY_SHARE", 0.5)
    monkeypatch.setattr(gpu_checks, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["gpu_readings.py", "--seconds", "0.5"])
    return gpu_readings


def kept(readings) -> list[str]:
    """The lines of the only file of results, without the figures of single loads."""
    [file] = readings.gpu_checks.RESULTS.glob("*.txt")
    return [line for line in file.read_text().splitlines() if not line.startswith(" ")]


def test_a_gpu_that_agrees_with_the_other_tools_is_found_right_and_kept(readings, capsys):
    assert readings.main() == 0, capsys.readouterr().out
    head, *lines = kept(readings)
    assert "NVIDIA H200" in head
    assert "load by pytorch, " in head
    assert lines[0] == "skip  jax: it is not installed"
    assert all(line.startswith("ok    ") for line in lines[1:])
    assert len(lines) == 37
    told = capsys.readouterr().out
    assert str(readings.gpu_checks.RESULTS) in told
    assert [told.count(each) for each in ("\nok    ", "\nskip  ")] == [36, 1]
    [file] = readings.gpu_checks.RESULTS.glob("nvidia-h200-*.json")
    found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]["gpu_readings"]
    assert found["tables"]["gpu"][0]["name"] == "NVIDIA H200"
    assert [row["result"] for row in found["tables"]["checks"]] == ["skip", *["ok"] * 36]


def test_tables_of_one_benchmark_stay_side_by_side(readings):
    checks = readings.gpu_checks
    tables = "checks_on_tensorflow", "checks_on_jax"
    for table in (*tables, *tables):
        assert not checks.compare("gpu_training", "A GPU", "how", lambda say: True, None, table)
    [file] = checks.RESULTS.glob("a-gpu-*.json")
    found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]["gpu_training"]
    assert set(found["tables"]) == {"gpu", "checks_on_tensorflow", "checks_on_jax"}
    about = {row["table"]: (row["name"], row["how"]) for row in found["tables"]["gpu"]}
    assert about == dict.fromkeys(tables, ("A GPU", "how"))


class Ready(Array):
    """As JAX's and TensorFlow's: it keeps what it has handed back."""

    kept = True

    def block_until_ready(self):
        return self

    def __matmul__(self, other):
        super().__matmul__(other)
        return Ready(self.nvml)

    def __mul__(self, factor):
        self.sin()
        return Ready(self.nvml)

    def __add__(self, one):
        self.clone()
        return Ready(self.nvml)

    def numpy(self):
        return self.cpu()


def test_jax_makes_the_load_where_pytorch_is_not_installed(readings, nvml, monkeypatch):

    jax = types.ModuleType("jax")
    jax.numpy = types.ModuleType("jax.numpy")
    jax.numpy.bfloat16, jax.numpy.ones = None, lambda *how: Ready(nvml)
    jax.numpy.sin = lambda x: x
    jax.devices, jax.jit, jax.device_get = lambda kind: [kind], lambda work: work, Ready.cpu
    jax.device_put = lambda x, gpu: (x.to(gpu), x)[1]
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", jax.numpy)
    assert readings.main() == 0
    head, why, *lines = kept(readings)
    assert "load by jax, " in head
    assert why.startswith("skip  pytorch: import of torch halted")
    assert all(line.startswith("ok    ") for line in lines)


def test_tensorflow_makes_it_where_neither_is(readings, nvml, monkeypatch):
    listed = types.SimpleNamespace(list_physical_devices=lambda kind: [kind])
    waits = types.SimpleNamespace(sync_devices=lambda: None)
    tensorflow = types.SimpleNamespace(
        bfloat16=None,
        config=listed,
        random=types.SimpleNamespace(normal=lambda shape: Ready(nvml)),
        cast=lambda x, dtype: x,
        matmul=lambda x, y: x @ y,
        sin=lambda x: x,
        constant=lambda host: host.to("GPU"),
        test=types.SimpleNamespace(experimental=waits),
    )
    for name, module in (("torch", None), ("jax", None), ("tensorflow", tensorflow)):
        monkeypatch.setitem(sys.modules, name, module)
    assert readings.main() == 0
    head, *lines = kept(readings)
    assert "load by tensorflow, " in head
    assert [line.startswith("skip  ") for line in lines[:3]] == [True, True, False]
    assert all(line.startswith("ok    ") for line in lines[2:])


def test_figures_that_differ_from_the_other_tools_are_wrong(readings, nvml):
    nvml.set(utilization=79)
    assert readings.main() == 1
    wrong = [line for line in kept(readings) if line.startswith("WRONG")]
    assert len(wrong) == 4
    assert wrong[0] == "WRONG busy   0%: utilization  79.0%, nvidia-smi  90.0%"


def test_memory_of_this_process_that_differs_is_wrong(readings, monkeypatch):
    monkeypatch.setenv("MIB", "300")
    assert readings.main() == 1
    assert "WRONG process_memory_used_mib: 900, nvidia-smi 300" in kept(readings)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("power_mw", 250_000, "power_w: 250.0, nvidia-smi 312.5"),
        ("lanes", 8, "pcie_lanes: 8.0, nvidia-smi 16.0"),
        ("reasons", 0x4, "throttled_power_cap_pct: 100%, nvidia-smi 0%"),
        ("temperature", 71, "temperature_c: 71.0, nvidia-smi 61.0"),
        ("sm_clock", 1500, "sm_clock_mhz: 1500.0, nvidia-smi 1980.0"),
    ],
)
def test_what_else_differs_from_nvidia_smi_is_wrong(readings, nvml, field, value, told):
    nvml.set(**{field: value})
    assert readings.main() == 1
    assert f"WRONG {told}" in kept(readings)


PRODUCT, ELEMENTWISE, COPY = 20.0, 50.0, 85.0  # of the memory's bandwidth


@pytest.mark.parametrize(
    ("work", "shares", "told"),
    [
        (ELEMENTWISE, {"tensor": 40.0}, "tensor cores: 40.0% in elementwise work, 70.0% in a"),
        (ELEMENTWISE, {"warps": 1.05}, "occupancy: 0.4% asleep, 19.0% in a product, 94.5% "),
        (PRODUCT, {"warps": 0.8}, "occupancy: 0.4% asleep, 76.0% in a product, 72.0% "),
        (PRODUCT, {"sm": 20.0}, "multiprocessors: 0.5% asleep, 20.0% in a matrix product"),
        (COPY, {"dram": 15.0}, "memory: 20.0% in a matrix product, 15.0% in a copy"),
    ],
)
def test_activity_that_a_load_cannot_have_is_wrong(readings, monkeypatch, work, shares, told):
    usual = Array.busy
    monkeypatch.setattr(
        Array,
        "busy",
        lambda self, **found: usual(self, **(found | shares if found["dram"] == work else found)),
    )
    assert readings.main() == 1
    assert any(line.startswith(f"WRONG {told}") for line in kept(readings)), kept(readings)


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ("product", "tensor cores: 70.0% busy, 3[0-5]."),
        ("copy", "memory: 85.0% busy, (3[6-9]|4[0-2])."),
        ("upload", "pcie_received_mib_per_sec: 20,000, [89],"),
        ("download", "pcie_sent_mib_per_sec: 10,000, 4,"),
    ],
)
def test_activity_that_is_not_what_a_load_does_is_wrong(readings, monkeypatch, work, told):
    monkeypatch.setitem(TIMES_PER_S, work, TIMES_PER_S[work] / 2)
    assert readings.main() == 1
    [wrong] = [line for line in kept(readings) if line.startswith("WRONG")]
    assert re.match(f"WRONG {told}", wrong)


def test_of_what_is_cut_off_the_table_is_kept_as_far_as_it_goes(readings):
    def work(say):
        say("ok    one")
        say("      of a load")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        readings.gpu_checks.compare("gpu_readings", "A GPU", "how", work, None)
    [file] = readings.gpu_checks.RESULTS.glob("a-gpu-*.json")
    found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]["gpu_readings"]
    assert found["tables"]["checks"] == [{"check": "one", "result": "ok"}]


def test_a_check_that_cannot_be_made_leaves_the_others(readings, nvml, monkeypatch, tmp_path):
    (tmp_path / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    nvml.fail("nvmlDeviceGetTotalEnergyConsumption", 3)
    assert readings.main() == 1
    lines = kept(readings)[2:]
    failed = [line.split(":")[0] for line in lines if line.startswith("FAILED")]
    assert failed == [
        *(f"FAILED utilization {share}%" for share in (0, 25, 50, 100)),
        "FAILED energy",
    ]
    assert len([line for line in lines if line.startswith("ok")]) == 10
    assert len([line for line in lines if line.startswith("skip")]) == 14


def test_a_framework_that_finds_no_gpu_leaves_it_to_the_next(readings, monkeypatch, capsys):
    def none(*size, **options):
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(sys.modules["torch"], "randn", none)
    assert readings.main() == readings.result.NOTHING_TO_MEASURE
    assert "Torch not compiled with CUDA enabled" in capsys.readouterr().out
    assert not readings.gpu_checks.RESULTS.exists()


def test_without_a_driver_one_line_says_so(readings, nvml, capsys):
    nvml.fail("nvmlInitWithFlags", 9)
    assert readings.main() == readings.result.NOTHING_TO_MEASURE
    assert capsys.readouterr().out.startswith("No GPU to compare with: no NVIDIA driver")


def test_it_needs_nvidias_binding_and_nothing_else():
    script = """
import sys
for name in ("tensorflow", "keras", "pandas", "numpy", "psutil", "tensorboard", "rich"):
    sys.modules[name] = None
import gpu_readings
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
