"""Regular expressions as values: the tree that pattern parsers build and automata consume.

A node denotes a set of strings over Unicode scalar values (code points 0..10FFFF without the
surrogates D800..DFFF). Anchors, word boundaries and lookarounds are nodes too
(:class:`Assert`, :class:`Look`): they match the empty string under a condition on what stands
around them, so a tree's language is defined for the *whole* text: ``^`` holds before its first
character, ``$`` after its last.

All nodes are frozen and hashable; smart constructors (:func:`concat`, :func:`union`,
:func:`repeat`) flatten and simplify. ``Intersect`` and ``Complement`` are first-class, since
regular languages are closed under both and JSON Schema needs both; their operands must not
contain assertions that look outside of the operand (each operand is a whole-text language).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "ANY_CHAR",
    "ANY_TEXT",
    "EMPTY",
    "MAX_CODE_POINT",
    "NEVER",
    "Assert",
    "CharSet",
    "Chars",
    "Complement",
    "Concat",
    "Intersect",
    "Look",
    "Regular",
    "Repeat",
    "Union",
    "chars",
    "concat",
    "repeat",
    "text",
    "union",
]

MAX_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of code points as sorted, disjoint, non-adjacent inclusive ranges.

    Surrogates are never members: the constructors :meth:`of` and the set operations drop them.
    """

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def of(ranges: Iterable[tuple[int, int]]) -> CharSet:
        """Normalize arbitrary inclusive ranges (sorts, merges, drops surrogates)."""
        low, high = _SURROGATES
        pieces: list[tuple[int, int]] = []
        for first, last in ranges:
            if first > last:
                continue
            if last < low or first > high:
                pieces.append((first, last))
                continue
            if first < low:
                pieces.append((first, low - 1))
            if last > high:
                pieces.append((high + 1, last))
        pieces.sort()
        merged: list[tuple[int, int]] = []
        for first, last in pieces:
            if merged and first <= merged[-1][1] + 1:
                if last > merged[-1][1]:
                    merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        return CharSet(tuple(merged))

    @staticmethod
    def single(code_point: int) -> CharSet:
        return CharSet.of([(code_point, code_point)])

    def union(self, other: CharSet) -> CharSet:
        return CharSet.of(self.ranges + other.ranges)

    def complement(self) -> CharSet:
        result: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                result.append((start, first - 1))
            start = last + 1
        if start <= MAX_CODE_POINT:
            result.append((start, MAX_CODE_POINT))
        return CharSet.of(result)

    def intersect(self, other: CharSet) -> CharSet:
        result: list[tuple[int, int]] = []
        i = j = 0
        while i < len(self.ranges) and j < len(other.ranges):
            first = max(self.ranges[i][0], other.ranges[j][0])
            last = min(self.ranges[i][1], other.ranges[j][1])
            if first <= last:
                result.append((first, last))
            if self.ranges[i][1] < other.ranges[j][1]:
                i += 1
            else:
                j += 1
        return CharSet.of(result)

    def difference(self, other: CharSet) -> CharSet:
        return self.intersect(other.complement())

    def __contains__(self, code_point: int) -> bool:
        return any(first <= code_point <= last for first, last in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set. An empty set matches nothing."""

    set: CharSet


@dataclass(frozen=True, slots=True)
class Concat:
    """Items one after the other; no items match the empty string."""

    items: tuple[Regular, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """Any one of the options; no options match nothing."""

    options: tuple[Regular, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``min`` to ``max`` copies of the item (``max=None``: no upper bound).

    ``lazy`` is no matter of language: a matcher that stops at its first match tries few copies
    before many.
    """

    item: Regular
    min: int
    max: int | None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Assert:
    """An empty match at the start or end of the text, or at (not at) a word boundary.

    ``line_start``/``line_end`` are the multi-line forms: also after/before a character of
    ``set`` (the line terminators). For ``word_boundary``/``not_word_boundary`` the ``set`` is
    the set of word characters. For ``start``/``end`` the ``set`` is unused.
    """

    kind: Literal["start", "end", "line_start", "line_end", "word_boundary", "not_word_boundary"]
    set: CharSet = CharSet(())


@dataclass(frozen=True, slots=True)
class Look:
    """Lookahead or lookbehind: an empty match if ``item`` does (not) match here.

    Lookahead: some prefix of the remaining text matches ``item``. Lookbehind: some suffix of
    the text before this point matches ``item``. ``item`` may itself contain assertions.
    """

    item: Regular
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Intersect:
    """Strings that are in every part; each part is a whole-text language."""

    parts: tuple[Regular, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """Strings that are not in ``item``, a whole-text language."""

    item: Regular


Regular: TypeAlias = Chars | Concat | Union | Repeat | Assert | Look | Intersect | Complement

EMPTY = Concat(())
NEVER = Union(())
ANY_CHAR = Chars(CharSet.of([(0, MAX_CODE_POINT)]))
ANY_TEXT = Repeat(ANY_CHAR, 0, None)


def chars(*ranges: tuple[int, int]) -> Chars:
    """One character from inclusive code point ranges."""
    return Chars(CharSet.of(ranges))


def text(value: str) -> Regular:
    """Exactly this text."""
    return concat(Chars(CharSet.single(ord(c))) for c in value)


def concat(items: Iterable[Regular]) -> Regular:
    """Concatenate, flattening nested concatenations; ``NEVER`` absorbs."""
    flat: list[Regular] = []
    for item in items:
        if isinstance(item, Concat):
            flat.extend(item.items)
        elif item == NEVER:
            return NEVER
        else:
            flat.append(item)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def union(options: Iterable[Regular]) -> Regular:
    """Alternate, flattening nested unions and dropping repeated options."""
    flat: dict[Regular, None] = {}
    for option in options:
        if isinstance(option, Union):
            flat.update(dict.fromkeys(option.options))
        else:
            flat[option] = None
    unique = tuple(flat)
    return unique[0] if len(unique) == 1 else Union(unique)


def repeat(item: Regular, minimum: int, maximum: int | None) -> Regular:
    """Repeat, simplifying ``{1}``, ``{0}`` and repeats of the empty string."""
    if (minimum, maximum) == (1, 1):
        return item
    if maximum == 0 or item == EMPTY:
        return EMPTY
    return Repeat(item, minimum, maximum)
