"""What is logged of the host: the part of the table of metrics that psutil fills."""

from __future__ import annotations

from keras_perf.records.metrics.metric import Metric

PROCESS_MEMORY = "host/process_memory_mib"
CORE_WAIT = "host/process_core_wait_pct"
THROTTLED = "host/container_throttled_pct"

HOST_METRICS = (
    Metric(
        "host/cpu_pct",
        "%",
        "Use of the logical CPUs that this process may run on.",
        "Every process counts; a limit of CPU time is not seen.",
    ),
    Metric(
        "host/process_cpu_pct",
        "%",
        "CPU use of this process; 100 is one logical CPU.",
        "Child processes are not counted: see host/child_processes_cpu_pct.",
    ),
    Metric(
        CORE_WAIT,
        "%",
        "For how long threads of this process could have run, but had no core; 100 is one of them "
        "for all of the time.",
        "Read where the process has one core, on Linux; not seen is what a thread waited between "
        "its last reading and its end.",
    ),
    Metric(
        THROTTLED,
        "%",
        "Share of the periods of the container's quota of CPU time in which it was used up: its "
        "threads stood still until the next one.",
        "A period is a tenth of a second mostly; how much of it they stood still; of several "
        "quotas all but the smallest; Linux only.",
    ),
    Metric("host/memory_used_mib", "MiB", "Memory in use on the machine.", "Every process counts."),
    Metric(
        "host/process_memory_mib",
        "MiB",
        "Resident memory of this process.",
        "Shared pages count in full.",
    ),
    Metric(
        "host/read_mib_per_sec",
        "MiB/s",
        "What this process reads from storage.",
        "What the page cache holds is not read; child processes are not counted.",
    ),
    Metric(
        "host/interpreter_wait_ms",
        "ms",
        "How long a thread that wakes waits until it may run Python code.",
        "Tried a few times a sample; waiting for a core counts too, and the holder is unknown.",
    ),
    Metric(
        "host/python_threads_cpu_pct",
        "%",
        "CPU use of the threads that Python code has started since the sampling began.",
        "Whose they are; threads of tf.data are not among them; what a thread did between its last "
        "reading and its end; Linux only.",
    ),
    Metric(
        "host/child_processes_cpu_pct",
        "%",
        "CPU use of the processes that Python's multiprocessing has started here, such as workers "
        "that make batches; 100 is one logical CPU.",
        "Processes that were started otherwise, and what any of them starts; what one did between "
        "its last reading and its end; Linux only.",
    ),
)

DISK_AND_NETWORK_METRICS = (
    Metric(
        "host/write_mib_per_sec",
        "MiB/s",
        "What this process writes to storage.",
        "Child processes are not counted.",
    ),
    Metric(
        "host/disk_read_mib_per_sec",
        "MiB/s",
        "What is read from the machine's disks.",
        "Every process counts; file systems in the network are no disks.",
    ),
    Metric(
        "host/disk_written_mib_per_sec",
        "MiB/s",
        "What is written to the machine's disks.",
        "As host/disk_read_mib_per_sec.",
    ),
    Metric(
        "host/disk_busy_pct",
        "%",
        "Share of the time in which the busiest disk had something to do.",
        "A busy SSD may still do more at a time; absent where the system does not report it.",
    ),
    Metric(
        "host/network_received_mib_per_sec",
        "MiB/s",
        "What the machine receives from the network.",
        "Every process counts, except traffic within the machine.",
    ),
    Metric(
        "host/network_sent_mib_per_sec",
        "MiB/s",
        "What the machine sends into the network.",
        "As host/network_received_mib_per_sec.",
    ),
    Metric(
        "host/swapped_in_mib_per_sec",
        "MiB/s",
        "What the machine reads back from swap; code that needs it waits.",
        "Every process counts.",
    ),
    Metric(
        "host/swapped_out_mib_per_sec",
        "MiB/s",
        "What the machine moves out of memory to swap.",
        "Every process counts.",
    ),
)
"""Rates over five seconds."""
