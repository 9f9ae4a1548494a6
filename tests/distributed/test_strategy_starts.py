"""TensorFlow's strategy after the workers have met."""

from __future__ import annotations

import sys

import namespace
from test_workers_that_die import MEETS, WORKER, lines, run, worker

STRATEGY = """
import tensorflow as tf
time.sleep({late_s} * cluster.rank)
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


def test_tensorflows_server_takes_over_the_port_and_its_wait_is_no_silence():
    # While the strategy waits for the late worker it holds the interpreter, beyond the ten
    # seconds after which silence is a loss.
    late = STRATEGY.format(late_s=12)
    ended = run(*(worker(rank, late) for rank in range(2)), limit_s=200)
    assert [each["out"] for each in ended] == ["all there\n3\n"] * 2
    assert [each["code"] for each in ended] == [0, 0]
    assert not any(lines(each) for each in ended)


def test_a_worker_that_dies_before_its_strategy_ends_those_that_wait_for_it_in_theirs():
    kill = "time.sleep(3); os.kill(me, signal.SIGKILL)"
    dies = STRATEGY.replace("strategy = ", f"{kill}\nstrategy = ")
    ended = run(worker(0, STRATEGY.format(late_s=0)), worker(1, dies.format(late_s=0)), limit_s=200)
    assert [each["code"] for each in ended] == [-9, -9]
    [line] = lines(ended[0])
    assert line.startswith("keras_perf: worker 1 (127.0.0.1:2223) is gone: ")


def test_the_launcher_holds_the_ports_and_tensorflows_servers_still_get_them(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WORKER + MEETS.format(deadline_s=60, then=STRATEGY.format(late_s=0)))
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
