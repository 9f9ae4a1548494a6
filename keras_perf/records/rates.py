"""What only the user knows of a training: prices, and how fast the machine multiplies."""

from __future__ import annotations

from dataclasses import dataclass, fields

from keras_perf.records.arguments import require_number


@dataclass(frozen=True)
class Rates:
    """Each may be None, and then nothing is said that needs it.

    Attributes:
        price_per_kwh: of electricity, in any currency.
        price_per_hour: of all that trains together, in the same one.
        matmul_flops_per_sec: of one replica's device, as `benchmark_matmul` measures them.

    Raises:
        TypeError, ValueError: one is no number above 0.
    """

    price_per_kwh: float | None = None
    price_per_hour: float | None = None
    matmul_flops_per_sec: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if (value := getattr(self, each.name)) is not None:
                value = require_number(each.name, value, above=0, remedy="Leave it out if unknown.")
                object.__setattr__(self, each.name, value)
