"""TensorFlow's strategy after the workers have met."""

from __future__ import annotations

import re
import sys

import namespace
import pytest
from test_workers_that_die import MEETS, WORKER

pytestmark = [pytest.mark.xdist_group("peers that wait"), pytest.mark.whole]

LATE_S = 12
"""The strategy waits for the late worker beyond the ten seconds after which silence is a loss."""


@pytest.fixture(scope="module")
def late(workers, ends):
    """Workers of whom one comes late; the other tests run meanwhile."""
    return workers.start(2, "jobs.in_main:sum_of_ranks", late_s=LATE_S)


def test_a_worker_that_dies_before_its_strategy_ends_those_that_wait_for_it_in_theirs(
    workers, late
):
    group = workers.start(2, "jobs.in_main:sum_of_ranks", dies=1)
    assert group.codes() == [-9, -9], group.tails()
    [line] = group.lines(0, "keras_perf: ")
    assert re.match(r"keras_perf: worker 1 \(127\.0\.0\.1:\d+\) is gone: ", line)


SUMS = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()

@tf.function
def ranks():
    def summed():
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", tf.constant(cluster.rank + 1))
    return strategy.run(summed)

print(int(ranks()), flush=True)
watch.close()
os._exit(0)
"""


def test_the_launcher_holds_the_ports_and_tensorflows_servers_still_get_them(tmp_path, late):
    script = tmp_path / "train.py"
    script.write_text(WORKER + MEETS.format(deadline_s=60, then=SUMS))
    start = "import sys; from keras_perf.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "launch", "--workers", "2", str(script)]
    found = namespace.run(command, limit_s=200)
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == [
        "[worker 0] 3",
        "[worker 0] all there",
        "[worker 1] 3",
        "[worker 1] all there",
    ]


def test_tensorflows_server_takes_over_the_port_and_its_wait_is_no_silence(late):
    # While the strategy waits for the late worker it holds the interpreter.
    assert late.codes() == [0, 0], late.tails()
    assert late.results() == [{"sum": 3}] * 2
    assert not any(late.lines(rank, "keras_perf: ") for rank in range(2))
