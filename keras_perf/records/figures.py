"""How a figure is shown wherever it stands: three significant digits, and never an exponent."""

from __future__ import annotations

import math

UNKNOWN = "–"
"""What was not measured."""

_DIGITS = 3
_SMALLEST = 1e-4
_SECONDS_FROM_MS = 10_000.0
_SIZES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def figure(value: float | None) -> str:
    """A number with three significant digits; those before the point are never rounded away.

    What is nearer to 0 than 0.0001 is shown as less than that; NaN and None are unknown.

    >>> figure(0.04567), figure(6.0), figure(1318.4), figure(1e-6)
    ('0.0457', '6', '1,318', '<0.0001')
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if abs(value) < _SMALLEST:
        return "<0.0001" if value > 0 else ">-0.0001"
    # The exponent after rounding: 9.999 has one digit before the point less than what it rounds to.
    exponent = int(f"{value:.{_DIGITS - 1}e}".partition("e")[2])
    decimals = max(0, _DIGITS - 1 - exponent)
    shown = f"{value:,.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if decimals else shown


def in_form(value: float | None, form: str = "{:.3f}") -> str:
    """A number in the one form of its column; None is unknown.

    >>> in_form(4.2671), in_form(1.5, "{:.2f}×"), in_form(None)
    ('4.267', '1.50×', '–')
    """
    return UNKNOWN if value is None else form.format(value)


def in_ms(ms: float | None) -> str:
    """Milliseconds; in seconds where they are ten or more.

    >>> in_ms(4.2671), in_ms(1318.4), in_ms(40_310.0)
    ('4.27 ms', '1,318 ms', '40.3 s')
    """
    if ms is not None and abs(ms) >= _SECONDS_FROM_MS:
        return in_s(ms / 1e3)
    return f"{figure(ms)} ms"


def in_percent(share: float | None) -> str:
    """A share of 1, in whole percent.

    >>> in_percent(0.4321), in_percent(1.0), in_percent(None)
    ('43%', '100%', '–')
    """
    return UNKNOWN if share is None or math.isnan(share) else f"{share:.0%}"


def in_us(ms: float) -> str:
    """Milliseconds as microseconds.

    >>> in_us(0.0123)
    '12.3 µs'
    """
    return f"{figure(1e3 * ms)} µs"


def in_s(seconds: float | None) -> str:
    """Seconds.

    >>> in_s(0.25), in_s(3725.0)
    ('0.25 s', '3,725 s')
    """
    return f"{figure(seconds)} s"


def in_bytes(size: float) -> str:
    """An amount of memory or of data in the largest binary unit of which there is one.

    >>> in_bytes(12), in_bytes(1_500_000), in_bytes(3 * 2**30)
    ('12 bytes', '1.43 MiB', '3 GiB')
    """
    for unit, factor in _SIZES:
        if abs(size) >= factor:
            return f"{figure(size / factor)} {unit}"
    return f"{figure(size)} byte{'' if size == 1 else 's'}"


def in_mib(mib: float) -> str:
    """MiB as `in_bytes` shows them.

    >>> in_mib(0.5), in_mib(12_288)
    ('512 KiB', '12 GiB')
    """
    return in_bytes(mib * 2**20)


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "step"), counted(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
