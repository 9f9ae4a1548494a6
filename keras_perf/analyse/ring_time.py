"""What an exchange of gradients takes on a wire of a given speed."""

from __future__ import annotations


def ring_ms(size_bytes: float, workers: int, gbit_per_sec: float) -> float:
    """Milliseconds in which a ring of workers sums so many bytes, if nothing but the wire counts.

    2 (R − 1) / R × bytes ÷ bandwidth: each worker sends and receives every part of the sum but
    its own twice, once to add it up and once to hand it round (Patarasuk and Yuan, 2009).

    >>> ring_ms(125e6, 2, 1.0)
    1000.0
    """
    return 2 * (workers - 1) / workers * size_bytes * 8 / (gbit_per_sec * 1e9) * 1e3
