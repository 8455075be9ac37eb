"""Sets of JSON numbers, and the automata of their decimal spellings.

A :class:`NumberSet` is what ``type``, ``minimum`` … ``exclusiveMaximum`` and ``multipleOf``
say together: the rationals between two bounds that are multiples of a step. These sets are
closed under intersection, and each has one normal form, so equal sets are equal values: an
integer is a multiple of 1, several steps are their least common multiple, and bounds of a
stepped set lie on multiples. All arithmetic is exact. ``multipleOf: 0.01`` means the decimal
0.01 and admits 0.07, although validators that divide binary floats may disagree.

Spellings. A set is about values, so every spelling of a member belongs: ``5``, ``5.0`` and
``5.00`` are the same integer, ``-0`` is zero. :meth:`NumberSet.language` reads digits from the
left and keeps

* how many integer digits (later: fraction digits) it has read,
* for each bound whether what it read is less than, equal to or greater than the bound's own
  first digits. The verdict on an integer part falls when its length is known: without
  leading zeros the longer one is larger;
* the remainder of the digits modulo the step, both scaled by the power of ten that makes the
  step an integer. Remainders that no continuation tells apart are merged, so a step of
  1,000,000 has seven of them, not a million.

A bound of n digits costs O(n) states, a step up to O(step) of them. The states are written to a
raw table which :mod:`..automata` minimizes. Regular expressions for ranges were rejected: they
are larger than the automaton they are turned into.

Exponents are spelled only where no verdict depends on them: in sets without a step, on the
side of zero that has no bound but perhaps zero itself (``minimum: 0``, ``exclusiveMinimum: 0``;
with ``minimum: -5`` the positive numbers). All others are written without exponent.

Digits are limited by :class:`DigitBounds`, so that no model can run away in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, gcd, isfinite
from typing import TypeAlias

import numpy as np

from ...errors import GrammarError, LimitError
from ...limits import DEFAULT_LIMITS, Limits
from ..automata.dfa import CharDFA, _from_table
from ..automata.minimal import canonical
from ..automata.table import Table

__all__ = ["DEFAULT_DIGITS", "DigitBounds", "Number", "NumberSet", "exact", "remainders"]

Number: TypeAlias = int | float | Decimal | Fraction

MAX_BOUND_DIGITS = 4_000
"""Bounds and steps with more digits are refused (Python itself converts up to 4,300)."""

_COUNTED_MODULUS = 16
_FLOAT_DECADES = 307


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitBounds:
    """How long the spelling of a number may get.

    Attributes:
        integer: digits before the point. The default holds 128-bit integers. Counting digits
            modulo a step multiplies states, so this does not apply to numbers that must be
            multiples of a step with a scaled modulus above 16 and have no bound on that side.
        fraction: digits after the point; 0 allows no point at all. The default holds the
            positional form of every float that Python writes without exponent.
        exponent: digits of the exponent; 0 allows none. The exponent's value is also limited
            to ``307 - max(integer, fraction)``, so that a binary float neither overflows nor
            turns a non-zero number into zero.

    A set whose own bounds or step have more digits gets as many as these need.
    """

    integer: int = 40
    fraction: int = 40
    exponent: int = 3

    def __post_init__(self) -> None:
        for name, least in (("integer", 1), ("fraction", 0), ("exponent", 0)):
            value = getattr(self, name)
            if not least <= value <= MAX_BOUND_DIGITS:
                raise GrammarError(
                    f"DigitBounds.{name} must be from {least} to {MAX_BOUND_DIGITS}, not {value}"
                )


DEFAULT_DIGITS = DigitBounds()


_LARGEST = 10**MAX_BOUND_DIGITS


def exact(value: Number) -> Fraction:
    """The rational that a number in a schema stands for.

    A float stands for the decimal that is written in the schema, which is the shortest one
    that reads as this float: ``0.1`` is 1/10.

    Raises:
        GrammarError: not a finite number, or one with more than 4,000 digits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise GrammarError(f"expected a number, not {value!r}")
    if isinstance(value, float):
        if not isfinite(value):
            raise GrammarError(f"{value} is not a JSON number; leave the bound out instead")
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise GrammarError(f"{value} is not a JSON number; leave the bound out instead")
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int) or max(len(digits), abs(exponent)) > MAX_BOUND_DIGITS:
            raise GrammarError(f"a number has more than {MAX_BOUND_DIGITS} digits")
    result = Fraction(value)
    if max(abs(result.numerator), result.denominator) > _LARGEST:
        raise GrammarError(f"a number has more than {MAX_BOUND_DIGITS} digits")
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSet:
    """The rationals within bounds that are multiples of a step. Hashable, equal iff same set.

    Build it with :meth:`of`, which takes what a schema says; the constructor takes exact
    fractions. Either way the fields are in normal form afterwards.

    Attributes:
        step: members are multiples of this; ``None`` allows every number. Positive.
        minimum, maximum: the bounds, ``None`` if there is none.
        exclusive_minimum, exclusive_maximum: whether the bound itself is not a member.
    """

    step: Fraction | None = None
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False

    def __post_init__(self) -> None:
        low, high, step = self.minimum, self.maximum, self.step
        low_open = self.exclusive_minimum and low is not None
        high_open = self.exclusive_maximum and high is not None
        if step is not None:
            if step <= 0:
                raise GrammarError(f"a step must be greater than 0, not {step}")
            if low is not None:
                low = (floor(low / step) + 1 if low_open else ceil(low / step)) * step
            if high is not None:
                high = (ceil(high / step) - 1 if high_open else floor(high / step)) * step
            low_open = high_open = False
        if low is not None and high is not None:
            if low > high or (low == high and (low_open or high_open)):
                step, low, high, low_open, high_open = None, Fraction(1), Fraction(0), False, False
            elif low == high:
                step = None
        for name, value in (
            ("step", step),
            ("minimum", low),
            ("maximum", high),
            ("exclusive_minimum", low_open),
            ("exclusive_maximum", high_open),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        *,
        integer: bool = False,
        minimum: Number | None = None,
        exclusive_minimum: Number | None = None,
        maximum: Number | None = None,
        exclusive_maximum: Number | None = None,
        multiple_of: Number | tuple[Number, ...] = (),
    ) -> NumberSet:
        """The numbers that satisfy all of these keywords.

        Raises:
            GrammarError: a bound that is not a finite number, or a ``multiple_of`` that is not
                greater than 0.
        """
        steps = multiple_of if isinstance(multiple_of, tuple) else (multiple_of,)
        result = cls(step=Fraction(1) if integer else None)
        for step in steps:
            if (value := exact(step)) <= 0:
                raise GrammarError(f"multipleOf must be greater than 0, not {step}")
            result = result.intersect(cls(step=value))
        if minimum is not None:
            result = result.intersect(cls(minimum=exact(minimum)))
        if exclusive_minimum is not None:
            low = exact(exclusive_minimum)
            result = result.intersect(cls(minimum=low, exclusive_minimum=True))
        if maximum is not None:
            result = result.intersect(cls(maximum=exact(maximum)))
        if exclusive_maximum is not None:
            high = exact(exclusive_maximum)
            result = result.intersect(cls(maximum=high, exclusive_maximum=True))
        return result

    @property
    def is_integer(self) -> bool:
        """Whether every member is an integer."""
        if self.step is None:
            return self.is_empty() or (
                self.minimum is not None
                and self.minimum == self.maximum
                and self.minimum.denominator == 1
            )
        return self.step.denominator == 1

    def intersect(self, other: NumberSet) -> NumberSet:
        """The numbers in both sets."""
        step = self.step
        if step is None:
            step = other.step
        elif other.step is not None:
            step = _common_multiple(step, other.step)
        low, low_open = self.minimum, self.exclusive_minimum
        if other.minimum is not None and (low is None or other.minimum >= low):
            low_open = other.exclusive_minimum or (low_open and low == other.minimum)
            low = other.minimum
        high, high_open = self.maximum, self.exclusive_maximum
        if other.maximum is not None and (high is None or other.maximum <= high):
            high_open = other.exclusive_maximum or (high_open and high == other.maximum)
            high = other.maximum
        return NumberSet(
            step=step,
            minimum=low,
            maximum=high,
            exclusive_minimum=low_open,
            exclusive_maximum=high_open,
        )

    def is_empty(self) -> bool:
        """Whether no number at all is a member."""
        return self.minimum is not None and self.maximum is not None and self.minimum > self.maximum

    def __contains__(self, value: Number) -> bool:
        number = exact(value)
        if self.step is not None and (number / self.step).denominator != 1:
            return False
        low, high = self.minimum, self.maximum
        if low is not None and (number < low or (self.exclusive_minimum and number == low)):
            return False
        return high is None or number < high or (number == high and not self.exclusive_maximum)

    def language(
        self, *, digits: DigitBounds = DEFAULT_DIGITS, limits: Limits = DEFAULT_LIMITS
    ) -> CharDFA:
        """The decimal spellings of the members, as JSON allows them.

        No member is lost but for its too long spellings: the language is empty iff the set is.

        Raises:
            LimitError: the step has too many remainders (``dfa_states``).
            GrammarError: a bound or step that has no finite decimal expansion.
        """
        return _Spellings(self, digits, limits.dfa_states).build()


def remainders(step: Number) -> int:
    """How many remainders an automaton tells apart that counts in steps of this size.

    Raises:
        GrammarError: the expansion of the step does not end.
    """
    return int("".join(_decimal_digits(exact(step))))


def _common_multiple(a: Fraction, b: Fraction) -> Fraction:
    numerator = a.numerator * b.numerator // gcd(a.numerator, b.numerator)
    return Fraction(numerator, gcd(a.denominator, b.denominator))


def _decimal_digits(value: Fraction) -> tuple[str, str]:
    """Integer and fraction digits of a non-negative number, the latter without zeros at the end.

    Raises:
        GrammarError: the expansion does not end.
    """
    rest = value.denominator
    places = 0
    for factor in (2, 5):
        count = 0
        while rest % factor == 0:
            rest //= factor
            count += 1
        places = max(places, count)
    if rest != 1:
        raise GrammarError(f"{value} has no finite decimal expansion, so no JSON number equals it")
    scaled = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return scaled[: len(scaled) - places], scaled[len(scaled) - places :]


# Symbol classes of the raw tables.
_OTHER, _PLUS, _MINUS, _POINT, _DIGIT, _EXPONENT = 0, 1, 2, 3, 4, 14
_N_CLASSES = 15
_CUTS = np.array([0, *range(0x2B, 0x3B), 0x45, 0x46, 0x65, 0x66], np.int32)
_INTERVAL_CLASS = np.array(
    [
        _OTHER,
        _PLUS,
        _OTHER,
        _MINUS,
        _POINT,
        _OTHER,
        *range(_DIGIT, _DIGIT + 10),
        _OTHER,
        _EXPONENT,
        _OTHER,
        _EXPONENT,
        _OTHER,
    ],
    np.int32,
)

# Phases of a reader state, its first item; the others are given with each.
_INTEGER = 0  # side, digits read, verdict on low, verdict on high, remainder
_FRACTION = 1  # side, digits read, verdict on low, verdict on high, remainder
_AFTER_E = 2
_AFTER_SIGN = 3
_POWER = 4  # digits that may follow, value so far (-1: whatever follows is within the limit)
_START = 5
_AFTER_MINUS = 6
_NO_STATE: tuple[int, ...] = ()

# What used to be a sign, once no bound matters any more: exponents may or may not follow.
_FREE_SCALED, _FREE = 2, 3

_LESS, _EQUAL, _GREATER = -1, 0, 1  # verdicts
_ONE_RUN = [0]
_EVERY_DIGIT = list(range(10))


class _Side:
    """The magnitudes allowed with one sign: an interval of non-negative numbers.

    A missing bound reads as one that is already satisfied: ``low`` is then passed from the
    start, ``high`` never reached.
    """

    __slots__ = (
        "decided",
        "has_high",
        "has_low",
        "high_fraction",
        "high_integer",
        "high_open",
        "low_fraction",
        "low_integer",
        "low_open",
        "possible",
    )

    def __init__(
        self, low: Fraction | None, low_open: bool, high: Fraction | None, high_open: bool
    ) -> None:
        self.possible = high is None or high > 0 or (high == 0 and not high_open)
        if low is not None and (low < 0 or (low == 0 and not low_open)):
            low = None
        self.has_low = low is not None
        self.has_high = high is not None
        self.low_integer, self.low_fraction = _decimal_digits(low) if low is not None else ("", "")
        self.high_integer, self.high_fraction = (
            _decimal_digits(high) if high is not None and self.possible else ("", "")
        )
        self.low_open = low_open
        self.high_open = high_open
        # Exponents need bounds that say no more than that the number is not zero.
        sign_only = not self.has_high and self.low_integer in ("", "0") and not self.low_fraction
        self.decided = _FREE_SCALED if sign_only else _FREE


class _Spellings:
    """Explores the reader states of one set and writes them to a raw table."""

    def __init__(self, numbers: NumberSet, digits: DigitBounds, max_states: int) -> None:
        low, high = numbers.minimum, numbers.maximum
        low_open, high_open = numbers.exclusive_minimum, numbers.exclusive_maximum
        self.sides = (
            _Side(low, low_open, high, high_open),
            _Side(
                None if high is None else -high, high_open, None if low is None else -low, low_open
            ),
            _Side(None, False, None, False),
            _Side(None, False, None, False),
        )
        self.sides[_FREE].decided = _FREE
        self.max_states = max_states
        # The step is modulus / 10**places.
        self.modulus = 1
        self.places = -1  # no step
        integer_width, fraction_width = digits.integer, digits.fraction
        longest = 0
        for side in self.sides[:2]:
            longest = max(longest, len(side.low_integer), len(side.high_integer))
            # Between two different bounds of n fraction digits there is a number of n + 1.
            width = max(len(side.low_fraction), len(side.high_fraction))
            if (side.has_low and side.low_open) or (side.has_high and side.high_open):
                width += 1
            fraction_width = max(fraction_width, width)
        integer_width = max(integer_width, longest)
        self.counted = True
        if numbers.step is not None:
            step_integer, step_fraction = _decimal_digits(numbers.step)
            self.places = len(step_fraction)
            self.modulus = remainders(numbers.step)
            integer_width = max(integer_width, len(step_integer))
            fraction_width = max(fraction_width, self.places)
            if self.modulus > _COUNTED_MODULUS:
                self.counted = False
                integer_width = longest
        self.integer_width = integer_width
        self.fraction_width = fraction_width
        self.max_power = min(
            10**digits.exponent - 1, _FLOAT_DECADES - max(integer_width, fraction_width)
        )
        self.power_digits = digits.exponent
        self.merged: dict[tuple[int, int], int] = {}
        self.first_with: dict[tuple[int, ...], int] = {}

    # Remainders.

    def merge(self, remainder: int, missing: int) -> int:
        """The representative of a remainder, or -1 if it cannot become 0.

        Args:
            missing: exactly this many digits are still to come; -1 in the integer part, where
                it is ``places`` or more.
        """
        known = self.merged.get((remainder, missing))
        if known is not None:
            return known
        # For each number of digits to come: what these digits must add, if they can.
        least = self.places if missing < 0 else missing
        most = least
        if missing < 0:
            while 10**most < self.modulus:
                most += 1
        signature = [missing]
        for count in range(least, most + 1):
            power = 10**count
            need = -remainder * power % self.modulus
            signature.append(need if need < power else -1)
        result = remainder
        if missing >= 0 and signature[1] < 0:
            result = -1
        else:
            result = self.first_with.setdefault(tuple(signature), remainder)
        self.merged[remainder, missing] = result
        return result

    # Reader states.

    def after_integer_digit(
        self, sign: int, count: int, low: int, high: int, remainder: int, digit: int
    ) -> tuple[int, ...]:
        """The state after one more digit of the integer part, the ``count``-th one."""
        side = self.sides[sign]
        if count > self.integer_width:
            if self.counted:
                return _NO_STATE
            count = self.integer_width + 1  # longer than any bound; no matter by how much
        if side.has_low:
            low = _advance(low, digit, side.low_integer, count - 1)
            if count > len(side.low_integer):
                low = _GREATER
        if side.has_high:
            high = _advance(high, digit, side.high_integer, count - 1)
            if count > len(side.high_integer):
                return _NO_STATE
            if count == len(side.high_integer) and high == _GREATER:
                return _NO_STATE
        if self.modulus > 1:
            remainder = self.merge((remainder * 10 + digit) % self.modulus, -1)
        if not side.has_high and low == _GREATER and count >= len(side.low_integer):
            sign = side.decided
        return (_INTEGER, sign, count, low, high, remainder)

    def after_fraction_digit(
        self, sign: int, count: int, low: int, high: int, remainder: int, digit: int
    ) -> tuple[int, ...]:
        """The state after one more digit of the fraction, the ``count``-th one."""
        if low == _EQUAL:
            low = _advance(low, digit, self.sides[sign].low_fraction, count - 1)
        if high == _EQUAL:
            high = _advance(high, digit, self.sides[sign].high_fraction, count - 1)
        if low == _LESS or high == _GREATER:
            return _NO_STATE
        if self.places >= 0:
            if count > self.places:
                if digit:
                    return _NO_STATE
            elif self.modulus > 1:
                remainder = (remainder * 10 + digit) % self.modulus
                remainder = self.merge(remainder, self.places - count)
                if remainder < 0:
                    return _NO_STATE
        if low == _GREATER and high == _LESS:
            sign = self.sides[sign].decided
        return (_FRACTION, sign, count, low, high, remainder)

    def is_member(
        self, sign: int, low: int, high: int, remainder: int, fraction_digits: int
    ) -> bool:
        """Whether a number that ends here is in the set, given verdicts on all of its digits."""
        side = self.sides[sign]
        if low == _LESS or high == _GREATER:
            return False
        if low == _EQUAL and (side.low_open or len(side.low_fraction) > fraction_digits):
            return False
        if high == _EQUAL and side.high_open and len(side.high_fraction) <= fraction_digits:
            return False
        missing = max(self.places - fraction_digits, 0)
        return self.modulus == 1 or remainder * 10**missing % self.modulus == 0

    def may_scale(self, sign: int, low: int) -> bool:
        """Whether an exponent may follow without changing any verdict."""
        if self.places >= 0 or self.max_power < 1:
            return False
        return self.sides[sign].decided == _FREE_SCALED and low == _GREATER

    def after_power_digit(self, left: int, value: int) -> tuple[int, ...]:
        """The state after a digit of the exponent; ``left`` more may follow."""
        if value > self.max_power:
            return _NO_STATE
        free = 0
        while free < left and (value + 1) * 10 ** (free + 1) - 1 <= self.max_power:
            free += 1
        if free == left or value * 10 ** (free + 1) > self.max_power:
            return (_POWER, free, -1)
        return (_POWER, left, value)

    def runs(self, sign: int, low: int, high: int, position: int, fraction: bool) -> list[int]:
        """Where runs of digits begin that lead to the same state, for the digit at a position.

        Digits differ by how they compare with the bounds' digits, and always if there are
        remainders to keep.
        """
        if self.modulus > 1:
            return _EVERY_DIGIT
        if low != _EQUAL and high != _EQUAL:
            return _ONE_RUN
        side = self.sides[sign]
        begins = {0}
        for verdict, bound in (
            (low, side.low_fraction if fraction else side.low_integer),
            (high, side.high_fraction if fraction else side.high_integer),
        ):
            if verdict == _EQUAL:
                own = int(bound[position]) if position < len(bound) else 0
                begins.add(own)
                begins.add(own + 1)
        begins.discard(10)
        return sorted(begins)

    def row(self, state: tuple[int, ...]) -> tuple[bool, list[tuple[int, int, tuple[int, ...]]]]:
        """Whether a state accepts, and its transitions.

        A transition is (symbol class, how many classes from it on, next state); of overlapping
        ones the last counts.
        """
        arcs: list[tuple[int, int, tuple[int, ...]]] = []
        accepts = False
        phase = state[0]
        if phase == _FRACTION:
            _, sign, count, low, high, remainder = state
            if count < self.fraction_width:
                # After the last place of the step only zeros may follow.
                zeros = 0 <= self.places <= count
                for digit in _ONE_RUN if zeros else self.runs(sign, low, high, count, True):
                    target = self.after_fraction_digit(sign, count + 1, low, high, remainder, digit)
                    arcs.append((_DIGIT + digit, 1 if zeros else 10 - digit, target))
            if count:
                accepts = self.is_member(sign, low, high, remainder, count)
                if accepts and self.may_scale(sign, low):
                    arcs.append((_EXPONENT, 1, (_AFTER_E,)))
        elif phase == _INTEGER:
            _, sign, count, low, high, remainder = state
            if count:
                for digit in self.runs(sign, low, high, count, False):
                    target = self.after_integer_digit(sign, count + 1, low, high, remainder, digit)
                    arcs.append((_DIGIT + digit, 10 - digit, target))
            # If the number ends here, its length is known, and with it the verdict.
            length = count or 1
            side = self.sides[sign]
            if side.has_low and length != len(side.low_integer):
                low = _LESS if length < len(side.low_integer) else _GREATER
            if side.has_high and length < len(side.high_integer):
                high = _LESS
            if low != _LESS and high != _GREATER:
                accepts = self.is_member(sign, low, high, remainder, 0)
                if self.fraction_width and (
                    self.modulus == 1 or self.merge(remainder, self.places) >= 0
                ):
                    if low == _GREATER and high == _LESS:
                        sign = side.decided
                    arcs.append((_POINT, 1, (_FRACTION, sign, 0, low, high, remainder)))
                if accepts and self.may_scale(sign, low):
                    arcs.append((_EXPONENT, 1, (_AFTER_E,)))
        elif phase in (_START, _AFTER_MINUS):
            sign = 1 if phase == _AFTER_MINUS else 0
            if phase == _START and self.sides[1].possible:
                arcs.append((_MINUS, 1, (_AFTER_MINUS,)))
            side = self.sides[sign]
            if side.possible:
                low = _EQUAL if side.has_low else _GREATER
                high = _EQUAL if side.has_high else _LESS
                for digit in {1, *self.runs(sign, low, high, 0, False)}:
                    target = self.after_integer_digit(sign, 1, low, high, 0, digit)
                    if digit == 0 and target:
                        # Nothing but a point or exponent may follow a zero: a count of 0 says so.
                        target = (_INTEGER, sign, 0, *target[3:])
                    arcs.append((_DIGIT + digit, 10 - digit, target))
                arcs.sort()
        else:
            left, value = self.power_digits, 0
            if phase == _POWER:
                _, left, value = state
                accepts = True
            elif phase == _AFTER_E:
                arcs.append((_PLUS, 2, (_AFTER_SIGN,)))
            if left and value < 0:
                arcs.append((_DIGIT, 10, (_POWER, left - 1, -1)))
            elif left:
                for digit in range(10):
                    target = self.after_power_digit(left - 1, value * 10 + digit)
                    arcs.append((_DIGIT + digit, 1, target))
        return accepts, arcs

    def check_remainders(self) -> None:
        """Refuse at once what exploring would only find out after many states.

        Without a bound every remainder is reached, and what is left of the modulus without
        its factors 2 and 5 keeps all of its remainders apart.
        """
        rest = self.modulus
        for factor in (2, 5):
            while rest % factor == 0:
                rest //= factor
        unbounded = any(side.possible and not side.has_high for side in self.sides[:2])
        if unbounded and rest > self.max_states:
            raise self.too_many(rest)

    def too_many(self, states: int) -> LimitError:
        return LimitError(
            stage="number automaton",
            limit="dfa_states",
            allowed=self.max_states,
            actual=states,
            culprit="multipleOf" if self.modulus > 1 else "",
        )

    def build(self) -> CharDFA:
        """Explore from the start, and minimize."""
        self.check_remainders()
        start = (_START,)
        number: dict[tuple[int, ...], int] = {_NO_STATE: 0, start: 1}
        pending: list[tuple[int, ...]] = [_NO_STATE, start]
        rows: list[int] = [0] * _N_CLASSES
        accepting = [False]
        position = 1
        while position < len(pending):
            accepts, arcs = self.row(pending[position])
            row = [0] * _N_CLASSES
            for first, count, target in arcs:
                index = number.get(target)
                if index is None:
                    index = number[target] = len(pending)
                    pending.append(target)
                row[first : first + count] = [index] * count
            rows += row
            accepting.append(accepts)
            position += 1
            if position > self.max_states:
                raise self.too_many(position)
        trans = np.array(rows, np.int32).reshape(position, _N_CLASSES)
        # The whole table is dead but for its start if no side is possible; the kernel sees that.
        raw = Table(_CUTS, _INTERVAL_CLASS, trans, np.array(accepting, np.bool_))
        return _from_table(canonical(raw))


def _advance(verdict: int, digit: int, bound: str, position: int) -> int:
    """The verdict on one digit more, given the verdict on those before it."""
    if verdict != _EQUAL:
        return verdict
    own = int(bound[position]) if position < len(bound) else 0
    return _LESS if digit < own else _EQUAL if digit == own else _GREATER
