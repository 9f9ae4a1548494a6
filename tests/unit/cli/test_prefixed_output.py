"""Lines of several workers on one stream, which may be without a buffer."""

from __future__ import annotations

import errno
import io
import os
import threading

from keras_perf.cli.prefixed_output import PrefixedOutput, SharedOutput


class Unbuffered(io.RawIOBase):
    """Takes a few bytes at a time, none now and then, and lets others go on in between."""

    def __init__(self) -> None:
        self.taken = bytearray()
        self.asked = 0
        self.pause = threading.Event()

    def writable(self) -> bool:
        return True

    def write(self, piece) -> int | None:
        self.asked += 1
        if self.asked % 50 == 0:
            return None
        self.taken += piece[:5]
        self.pause.wait(0.0001)
        return min(5, len(piece))


def test_lines_of_two_workers_stay_whole_on_a_stream_that_takes_parts():
    stream = Unbuffered()
    shared = SharedOutput(stream)
    workers, ends = [], []
    for rank in range(2):
        read, write = os.pipe()
        ends.append(write)
        source = os.fdopen(read, "rb", buffering=0)
        workers.append(PrefixedOutput(source, shared, f"[worker {rank}] ".encode()))
        workers[-1].start()
    for line in range(40):
        for end in ends:
            os.write(end, f"line {line} and ".encode())
            os.write(end, b"its end\n")
    for end in ends:
        os.close(end)
    for worker in workers:
        worker.finish(30)
    lines = stream.taken.decode().splitlines()
    for rank in range(2):
        prefix = f"[worker {rank}] "
        own = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        assert own == [f"line {number} and its end" for number in range(40)]
    assert len(lines) == 80


def test_a_full_pipe_that_does_not_block_is_waited_for():
    read, write = os.pipe()
    os.set_blocking(write, False)
    lines = [f"line {number:06}\n".encode() for number in range(20_000)]
    taken = bytearray()

    def reads():
        while piece := os.read(read, 4096):
            taken.extend(piece)

    with os.fdopen(write, "wb") as stream:
        shared = SharedOutput(stream)
        reader = threading.Timer(0.2, reads)
        reader.start()
        for line in lines:
            shared.write(line)
    reader.join(30)
    os.close(read)
    assert bytes(taken) == b"".join(lines)


class Stopped(Unbuffered):
    """Takes nothing until it goes on, as a terminal that is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def write(self, piece) -> int | None:
        return super().write(piece) if self.goes_on.wait(0.0001) else None


def test_a_reader_who_has_stopped_is_not_waited_for():
    read, write = os.pipe()
    source = os.fdopen(read, "rb", buffering=0)
    stream = Stopped()
    worker = PrefixedOutput(source, SharedOutput(stream), b"[worker 0] ")
    worker.start()
    os.write(write, b"said\n")
    while not worker._lock.locked():
        pass
    worker.finish(0.01)
    assert stream.taken == b""
    stream.goes_on.set()
    os.close(write)
    worker._thread.join()
    assert stream.taken == b"[worker 0] said\n"


def test_what_cannot_be_written_is_read_all_the_same():
    """A worker that saves before it ends may print meanwhile, and must not fail by that."""

    class Gone(io.BytesIO):
        def write(self, piece):
            raise OSError(errno.EIO, "the terminal is gone")

    read, write = os.pipe()
    worker = PrefixedOutput(os.fdopen(read, "rb", buffering=0), SharedOutput(Gone()), b"")
    worker.start()
    for _ in range(200):
        os.write(write, b"x" * 1000 + b"\n")
    os.close(write)
    worker.finish(60.0)
    assert worker.error.errno == errno.EIO
