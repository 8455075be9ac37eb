"""Sets of strings and of numbers, as conjunctions of what a schema says.

Both are kept symbolic: intersecting is merging a few small sets, so automata are only built
for what a parse reaches (:mod:`.languages` does that). A complement is a union of parts, one
for each conjunct, so unions of parts are closed under all three operations.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from .numbers import NumberSet, exact

__all__ = [
    "ANY_NUMBER",
    "ANY_STRING",
    "INTEGERS",
    "NUMBERS",
    "STRICT_INTEGERS",
    "LanguageKey",
    "NumberPart",
    "StringPart",
    "number_parts",
    "single",
]

LanguageKey: TypeAlias = tuple[str, str]
"""``("pattern", regex)`` or ``("format", name)``: a regular language by name."""

_NO_LANGUAGES: frozenset[LanguageKey] = frozenset()
_NO_STRINGS: frozenset[str] = frozenset()
_EVERY_NUMBER = NumberSet()


@dataclass(frozen=True, slots=True)
class StringPart:
    """The strings that satisfy every one of these.

    Attributes:
        min, max: bounds on the number of characters.
        languages, excluded_languages: regular languages that hold it, that do not.
        values: the only candidates, ``None`` for all strings. Lengths and ``excluded`` are
            already applied to them, languages are not.
        excluded: strings that are not in the set.
    """

    min: int = 0
    max: int | None = None
    languages: frozenset[LanguageKey] = _NO_LANGUAGES
    excluded_languages: frozenset[LanguageKey] = _NO_LANGUAGES
    values: tuple[str, ...] | None = None
    excluded: frozenset[str] = _NO_STRINGS

    @property
    def is_plain(self) -> bool:
        """Only lengths are bounded."""
        return (
            self.values is None
            and not self.languages
            and not self.excluded_languages
            and not self.excluded
        )

    @property
    def is_all_but_few(self) -> bool:
        """All strings but listed ones."""
        return bool(self.excluded) and self == StringPart(excluded=self.excluded)

    def intersect(self, other: StringPart) -> StringPart | None:
        """``None`` if that is plainly empty."""
        if self == ANY_STRING:
            return other
        if other == ANY_STRING:
            return self
        low = max(self.min, other.min)
        high = self.max if other.max is None else other.max
        if self.max is not None and other.max is not None:
            high = min(self.max, other.max)
        if high is not None and low > high:
            return None
        excluded = self.excluded | other.excluded
        languages = self.languages | other.languages
        excluded_languages = self.excluded_languages | other.excluded_languages
        if not languages.isdisjoint(excluded_languages):
            return None
        values = self.values if self.values is not None else other.values
        if values is None:
            return StringPart(low, high, languages, excluded_languages, None, excluded)
        if self.values is not None and other.values is not None:
            both = set(other.values)
            values = tuple(value for value in self.values if value in both)
        values = tuple(
            value
            for value in values
            if low <= len(value) and (high is None or len(value) <= high) and value not in excluded
        )
        if not values:
            return None
        return StringPart(0, None, languages, excluded_languages, values, _NO_STRINGS)

    def complement(self) -> tuple[StringPart, ...]:
        """All other strings."""
        parts: list[StringPart] = []
        if self.values is not None:
            parts.append(StringPart(excluded=frozenset(self.values)))
        if self.min > 0:
            parts.append(StringPart(max=self.min - 1))
        if self.max is not None:
            parts.append(StringPart(min=self.max + 1))
        parts.extend(
            StringPart(excluded_languages=frozenset((key,))) for key in sorted(self.languages)
        )
        parts.extend(
            StringPart(languages=frozenset((key,))) for key in sorted(self.excluded_languages)
        )
        if self.excluded:
            parts.append(StringPart(values=tuple(sorted(self.excluded))))
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class NumberPart:
    """The numbers in one set and in none of others.

    Attributes:
        within: the set.
        excluded: sets whose members are left out.
        values: the only candidates as they were written, ``None`` for all numbers. Both
            sets are already applied to them.
        point: whether the spelling must (``True``) or must not (``False``) have a decimal
            point or exponent: draft 4 takes ``1.0`` for no integer.
    """

    within: NumberSet = _EVERY_NUMBER
    excluded: frozenset[NumberSet] = frozenset()
    values: tuple[Any, ...] | None = None
    point: bool | None = None

    def contains(self, value: Any) -> bool:
        if self.point is not None and self.point != isinstance(value, float):
            return False
        return value in self.within and not any(value in part for part in self.excluded)

    def intersect(self, other: NumberPart) -> NumberPart | None:
        """``None`` if that is plainly empty."""
        if self == ANY_NUMBER:
            return other
        if other == ANY_NUMBER:
            return self
        if self.point is not None and other.point not in (None, self.point):
            return None
        point = self.point if other.point is None else other.point
        if self.values is not None or other.values is not None:
            first, second = (self, other) if self.values is not None else (other, self)
            assert first.values is not None
            if second.values is None:
                values = tuple(v for v in first.values if second.contains(v))
            else:
                both = {exact(value) for value in second.values}
                values = tuple(v for v in first.values if exact(v) in both)
            return NumberPart(values=values, point=point) if values else None
        within = self.within.intersect(other.within)
        if within.is_empty():
            return None
        excluded = self.excluded | other.excluded
        if within in excluded:
            return None
        return NumberPart(within, excluded, None, point)

    def complement(self) -> tuple[NumberPart, ...]:
        """All other numbers."""
        parts: list[NumberPart] = []
        if self.point is not None:
            parts.append(NumberPart(point=not self.point))
        if self.values is not None:
            points = frozenset(single(exact(value)) for value in self.values)
            parts.append(NumberPart(excluded=points))
            return tuple(parts)
        if self.within != _EVERY_NUMBER:
            parts.append(NumberPart(excluded=frozenset((self.within,))))
        parts.extend(NumberPart(within=taken) for taken in self.excluded)
        return tuple(parts)


def single(value: Fraction) -> NumberSet:
    """The set of one number."""
    return NumberSet(minimum=value, maximum=value)


ANY_STRING = StringPart()
ANY_NUMBER = NumberPart()
INTEGERS = NumberPart(within=NumberSet.of(integer=True))
STRICT_INTEGERS = NumberPart(within=NumberSet.of(integer=True), point=False)

NUMBERS = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
"""The keywords about numbers."""


def number_parts(
    schema: dict[str, Any], kinds: Container[str], *, strict: bool
) -> tuple[NumberPart, ...]:
    """The numbers that the keywords of a subschema allow: one part, or none.

    Args:
        kinds: the types allowed; or the only one.
        strict: ``1.0`` is not an integer.
    """
    if "number" in kinds:
        base = ANY_NUMBER
    elif "integer" in kinds:
        base = STRICT_INTEGERS if strict else INTEGERS
    else:
        return ()
    if NUMBERS.isdisjoint(schema):
        return (base,)
    part = NumberPart(within=_number_set(schema)).intersect(base)
    return () if part is None or part.within.is_empty() else (part,)


def _number_set(schema: dict[str, Any]) -> NumberSet:
    """The bounds and steps of a schema, in either form of the exclusive bounds."""
    low, high = schema.get("minimum"), schema.get("maximum")
    low_open, high_open = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low_open is True and low is not None:
        low, low_open = None, low
    if high_open is True and high is not None:
        high, high_open = None, high
    return NumberSet.of(
        minimum=low,
        exclusive_minimum=None if isinstance(low_open, bool) else low_open,
        maximum=high,
        exclusive_maximum=None if isinstance(high_open, bool) else high_open,
        multiple_of=schema.get("multipleOf", ()),
    )
