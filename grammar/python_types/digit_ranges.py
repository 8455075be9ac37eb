"""Regular expressions for "at least this, at most that" over decimal digits.

Strings of equal length that differ only in digits are ordered like the numbers they spell, so
a range is a common prefix, then one digit class for everything strictly between the ends, and
the two ends' own tails. That gives O(length) alternatives. Separators (the hyphens of a date)
stand at the same places in both ends and are copied.
"""

from __future__ import annotations

import re

__all__ = ["MOST_KEY_DIGITS", "between", "integers"]

MOST_KEY_DIGITS = 40
"""Digits of an integer without an upper bound: generous, and no model can run away in them."""


def _digits(low: str, high: str) -> str:
    return low if low == high else f"[{low}-{high}]"


def _rest(template: str, digits: str) -> str:
    """Any digits in the shape of ``template``."""
    return "".join(digits if char.isdigit() else re.escape(char) for char in template)


def between(low: str, high: str) -> str:
    """A pattern for the texts from ``low`` to ``high``, both included.

    Args:
        low, high: equally long, with digits at the same places, equal elsewhere, ``low <= high``.
    """
    if low == high:
        return re.escape(low)
    split = next(i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
    prefix, a, b = re.escape(low[:split]), low[split], high[split]
    low_tail, high_tail = low[split + 1 :], high[split + 1 :]
    lowest = _rest(low_tail, "0").replace("\\", "") == low_tail
    highest = _rest(high_tail, "9").replace("\\", "") == high_tail
    options: list[str] = []
    if not lowest:
        options.append(a + between(low_tail, re.sub(r"\d", "9", low_tail)))
    first, last = int(a) + (not lowest), int(b) - (not highest)
    if first <= last:
        options.append(_digits(str(first), str(last)) + _rest(low_tail, "[0-9]"))
    if not highest:
        options.append(b + between(re.sub(r"\d", "0", high_tail), high_tail))
    return f"{prefix}(?:{'|'.join(options)})" if len(options) > 1 else prefix + options[0]


def _naturals(low: int, high: int | None) -> list[str]:
    """Alternatives for ``low..high``, without leading zeros (``low >= 0``)."""
    most = MOST_KEY_DIGITS if high is None else len(str(high))
    options: list[str] = []
    for length in range(len(str(low)), most + 1):
        start = str(low) if length == len(str(low)) else "1" + "0" * (length - 1)
        if high is None and start == "1" + "0" * (length - 1):
            return [*options, f"[1-9][0-9]{{{length - 1},{MOST_KEY_DIGITS - 1}}}"]
        end = str(high) if high is not None and length == most else "9" * length
        options.append(between(start, end))
    return options


def integers(low: int | None, high: int | None) -> str | None:
    """A pattern (not anchored) for the integers from ``low`` to ``high``; ``None`` if none is.

    ``None`` as a bound means up to :data:`MOST_KEY_DIGITS` digits. The spelling is that of
    ``str(int)``: no leading zeros, no plus sign, no negative zero.
    """
    if low is not None and high is not None and low > high:
        return None
    options: list[str] = []
    if low is None or low < 0:
        nearest = 1 if high is None or high >= 0 else -high
        options += [f"-{option}" for option in _naturals(nearest, None if low is None else -low)]
    if high is None or high >= 0:
        options += _naturals(0 if low is None else max(low, 0), high)
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"
