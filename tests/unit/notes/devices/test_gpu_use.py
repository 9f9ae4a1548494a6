"""When the first line of a diagnosis is about a GPU, and when it is not."""

from __future__ import annotations

import json

import pytest
from hand_built import H200, frame, point, summary

from keras_perf.records.run.settings import DEFAULT_STRATEGY
from keras_perf.report.as_json import reports_json
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import RunReport

H = {"name": "NVIDIA H200", "utilization_pct": 0.0, "other_processes": 0}
BUSY = H | {"utilization_pct": 60.0, "other_processes": 1}
USED = H200 | {
    "system": "Linux",
    "machine_gpus": [H],
    "cuda_build": True,
    "gpus_found": 1,
    "gpus_visible": 1,
    "variables_on": {"GPU:0": 12},
    "operations_on": "GPU:0",
}
"""A training on the one GPU of its machine."""

NONE_FOUND = {
    "training_gpus": None,
    "gpus_found": 0,
    "gpus_visible": 0,
    "variables_on": None,
    "operations_on": None,
}
UNLIKE = {
    "training_gpus": [
        {"compute_capability": [8, 9], "name": "large"},
        {"compute_capability": [7, 5], "name": "small"},
    ]
}
"""Beside the second one each step would wait for it."""

TWO = {
    "machine_gpus": [H, H],
    "gpus_found": 2,
    "gpus_visible": 2,
}


def diagnosis(sensors=None, *, steps=200, **context):
    return diagnosis_of(summary(steps, compute=10.0, context=USED | context, sensors=sensors))


def alerts(sensors=None, **context):
    return list(diagnosis(sensors, **context).alerts)


def shared(sensors=None, **context):
    notes = diagnosis(sensors, **context).notes
    return [note for note in notes if "was shared when training began" in note]


def test_of_a_gpu_that_is_used_nothing_is_said():
    assert alerts() == []
    assert alerts({"gpu/0/utilization_pct": 3.0, "gpu/0/other_processes": 0.0}) == []


def test_of_a_machine_without_a_gpu_nothing_is_said():
    assert alerts(**NONE_FOUND, machine_gpus=[]) == []
    assert alerts(**NONE_FOUND, machine_gpus=[], cuda_build=False) == []
    assert alerts(**NONE_FOUND, machine_gpus=[], cuda_visible_devices="") == []
    assert list(diagnosis_of(summary(compute=10.0)).alerts) == []


def test_whoever_asks_for_details_reads_that_no_gpu_was_found():
    line = "Neither NVML nor TensorFlow finds a GPU: CPU and memory were sampled without one."
    without = diagnosis(**NONE_FOUND, machine_gpus=[])
    assert line not in without.notes
    assert line in without.with_details().notes
    assert line not in diagnosis().details
    assert line not in diagnosis(**NONE_FOUND).details


@pytest.mark.parametrize(
    ("context", "cause", "remedy"),
    [
        ({"cuda_build": False}, "built without CUDA", "install 'tensorflow[and-cuda]'"),
        ({"cuda_build": False, "system": "Windows"}, "since 2.11 not on native Windows", "WSL2"),
        (
            {"cuda_gpus": 1, "missing_libraries": ["cufft", "cudnn"]},
            "could not load cufft and cudnn of",
            "tensorflow[and-cuda]",
        ),
        ({"cuda_gpus": 1}, "Ignoring visible gpu device", "tensorflow[and-cuda]"),
        ({}, "CUDA shows none, though the driver does", "nvidia-smi"),
        (
            {"cuda_gpus": 0, "cuda_visible_devices": ""},
            "CUDA_VISIBLE_DEVICES=''",
            "Unless that is meant, unset it",
        ),
        (
            {"cuda_visible_devices": "-1"},
            "CUDA_VISIBLE_DEVICES='-1'",
            "Unless that is meant, unset it",
        ),
        (
            {"gpus_found": 1},
            "tf.config.set_visible_devices",
            "Unless that is meant, take out the call",
        ),
    ],
)
def test_why_tensorflow_has_no_gpu_is_the_first_line(context, cause, remedy):
    found = diagnosis(**{**NONE_FOUND, **context})
    (said,) = found.alerts
    assert said.startswith("The GPU of this machine (NVIDIA H200) is not used: ")
    assert cause in said
    assert remedy in said
    assert str(found).splitlines()[0] == said


def test_a_driver_that_was_updated_underneath_is_named():
    (said,) = alerts(**NONE_FOUND, machine_gpus=[], driver_mismatch=True)
    assert said.startswith("The GPU is not used: NVIDIA's driver was updated")
    assert "Restart the machine" in said


@pytest.mark.parametrize(
    ("visible_devices", "shown", "hides"),
    [
        ("", None, True),
        (" -1", None, True),
        ("NoDevFiles", None, True),
        ("1", 0, True),
        ("GPU-12", 0, True),
        ("GPU-12", None, False),
        ("0", 0, False),
        ("0,1", None, False),
        ("-1", 1, False),
    ],
)
def test_cuda_visible_devices_is_blamed_for_what_it_hides_only(visible_devices, shown, hides):
    hidden = {"cuda_visible_devices": visible_devices, "cuda_gpus": shown}
    (said,) = alerts(**NONE_FOUND, **hidden)
    assert ("CUDA_VISIBLE_DEVICES" in said) == hides


@pytest.mark.parametrize("hidden", [{"cuda_visible_devices": ""}, {"gpus_found": 2}])
def test_gpus_that_others_compute_on_and_that_are_hidden_are_hidden_on_purpose(hidden):
    assert alerts(**NONE_FOUND | {"machine_gpus": [BUSY, BUSY]} | hidden) == []
    (said,) = alerts(**NONE_FOUND | {"machine_gpus": [BUSY, H]} | hidden)
    assert said.startswith("The 2 GPUs of this machine (NVIDIA H200) are not used: ")


def test_a_model_on_the_cpu_is_named_though_tensorflow_has_a_gpu():
    (said,) = alerts(variables_on={"CPU:0": 12}, operations_on="GPU:0")
    assert said.startswith("The model is on the CPU, though TensorFlow has a GPU: its 12 trainable")
    assert "build and compile the model without" in said


@pytest.mark.parametrize("variables_on", [{"GPU:0": 12}, {"CPU:0": 12}])
def test_a_training_begun_under_the_cpu_is_named(variables_on):
    (said,) = alerts(operations_on="CPU:0", variables_on=variables_on)
    assert said.startswith("The GPU of this machine (NVIDIA H200) is not used: training began")
    assert "outside of it" in said


@pytest.mark.parametrize("strategy", ["MirroredStrategy", "OneDeviceStrategy"])
def test_a_strategy_runs_its_replicas_on_gpus_also_where_fit_was_called_under_the_cpu(strategy):
    assert alerts(operations_on="CPU:0", strategy=strategy) == []
    (said,) = alerts(operations_on="CPU:0", strategy=DEFAULT_STRATEGY)
    assert "with tf.device('/CPU:0')" in said


@pytest.mark.parametrize("variables_on", [{}, {"CPU:0": 1, "GPU:0": 11}, {"GPU:0": 6, "GPU:1": 6}])
def test_a_table_on_the_cpu_beside_a_model_on_the_gpu_is_no_alert(variables_on):
    assert alerts(variables_on=variables_on) == []


def test_what_is_wrong_is_said_where_no_step_was_measured_too():
    found = diagnosis(steps=0, **NONE_FOUND, cuda_gpus=1)
    assert found.verdict == "inconclusive"
    assert str(found).startswith("The GPU of this machine")


def test_one_of_two_gpus_used_alone_is_named_from_the_facts():
    (said,) = alerts(**TWO)
    assert said.startswith("GPU 1 is idle while another one trains")
    assert "tf.distribute.MirroredStrategy()" in said


def test_on_jax_the_remedy_is_keras_s_own():
    (said,) = alerts(**TWO, versions={"jax": "0.10.2"})
    assert "keras.distribution.DataParallel()" in said
    assert "tf.distribute" not in said


def test_idle_gpus_are_named_as_they_were_sampled():
    busy = {"gpu/0/utilization_pct": 95.0}
    (said,) = alerts(
        busy | {f"gpu/{i}/utilization_pct": 4.0 for i in (1, 2)}, **TWO | {"gpus_visible": 3}
    )
    assert said.startswith("GPUs 1 and 2 are idle")


@pytest.mark.parametrize(
    ("sensors", "context"),
    [
        ({}, {"replicas": 2, "variables_on": {"GPU:0": 12}}),
        ({}, {"variables_on": {"GPU:0": 6, "GPU:1": 6}}),
        ({}, {"machine_gpus": [H, BUSY]}),
        ({}, {"machine_gpus": [H, H, H, H]}),
        ({}, {"replicas": 2, "workers": 2, "machine_gpus": [BUSY, BUSY]}),
        ({"gpu/0/utilization_pct": 95.0, "gpu/1/utilization_pct": 5.0}, {}),
        ({"gpu/0/utilization_pct": 49.0, "gpu/1/utilization_pct": 0.0}, {}),
        (
            {
                "gpu/0/utilization_pct": 95.0,
                "gpu/1/utilization_pct": 4.0,
                "gpu/1/other_processes": 1.0,
            },
            {},
        ),
        ({"gpu/0/utilization_pct": 95.0, "gpu/1/utilization_pct": 0.0}, UNLIKE),
    ],
)
def test_gpus_that_all_work_or_that_others_have_are_not_idle(sensors, context):
    assert alerts(sensors, **TWO | context) == []


def test_gpus_that_tensorflow_does_not_have_are_not_idle_though_they_were_sampled():
    """Where CUDA cannot be asked which ones a process has, all of the machine are sampled."""
    sampled = {"gpu/0/utilization_pct": 95.0, "gpu/1/utilization_pct": 0.0}
    assert alerts(sampled, **TWO | {"gpus_found": 1, "gpus_visible": 1}) == []
    (said,) = alerts(sampled, **TWO | {"gpus_visible": None})
    assert said.startswith("GPU 1 is idle")


def test_who_else_has_a_gpu_open_is_told_with_its_memory_and_not_that_it_computes():
    (said,) = alerts({"gpu/0/other_processes": 0.5, "gpu/0/other_memory_used_mib": 5000.0})
    assert said.startswith("GPU 0 is shared")
    assert "(0.5 on average, which hold 5000 MiB" in said
    assert "If they compute, they slow this training, which was not measured" in said
    (said,) = alerts({"gpu/1/other_processes": 2.0}, **TWO, replicas=2)
    assert said.startswith("GPU 1 is shared")
    assert alerts({"gpu/0/other_processes": 0.09}) == []


def test_without_a_sampler_it_is_told_who_was_there_when_training_began():
    [note] = shared(machine_gpus=[BUSY])
    assert note == (
        "GPU 0 was shared when training began: other processes had it open (1; nvidia-smi names "
        "them). If they compute, they slow this training; GPUUtilizationSampler tells whether they "
        "still have it open."
    )
    sampled = {"gpu/0/utilization_pct": 90.0, "gpu/0/other_processes": 0.0}
    assert shared(sampled, machine_gpus=[BUSY]) == []
    assert shared(machine_gpus=[H | {"utilization_pct": 60.0}]) == [], "it may be this process"
    assert shared(**TWO | {"machine_gpus": [H, BUSY]}) == [], "the other one trains"
    assert shared(**TWO | {"machine_gpus": [BUSY, H | {"name": "another"}]}) == [], (
        "which is GPU 0?"
    )
    assert shared(machine_gpus=[BUSY, BUSY]) == [], "which of them has it?"


def test_who_was_there_once_comes_before_nothing_else():
    assert alerts(machine_gpus=[BUSY]) == []


def test_programs_and_the_page_are_told_too():
    found = diagnosis(**NONE_FOUND, cuda_build=False)
    report = RunReport("run", found, frame(point(10, 10, 10.0, compute=10.0)))
    (run,) = json.loads(reports_json([report]))["runs"]
    assert run["alerts"] == list(found.alerts)
    shown = page_html([report])
    assert shown.index("(NVIDIA H200) is not used") < shown.index(f">{found.verdict}<")
