"""The tree of a rule: regular wherever it can be, calls of rules in between.

A :data:`Part` is either a regular expression (:data:`~maskwright.grammar.regular.Regular`) or one
of four nodes around calls. The constructors keep the *regular parts as large as possible*:
neighbours in a series are concatenated, alternatives united, and only what contains a call is a
node of this module. A lexeme of the IR is then a maximal regular part, which is what masks are
shared by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from ..ir import Key
from ..regex.tree import either, repeated
from ..regular import (
    EMPTY,
    Assert,
    Chars,
    Complement,
    Concat,
    Intersect,
    Look,
    Regular,
    Repeat,
    Union,
    concat,
)

__all__ = [
    "Alternatives",
    "Call",
    "Part",
    "Repeated",
    "Series",
    "alternatives",
    "calls_of",
    "is_regular",
    "repetition",
    "series",
]


@dataclass(frozen=True, slots=True)
class Call:
    """The text of a rule."""

    key: Key


@dataclass(frozen=True, slots=True)
class Series:
    """Parts one after the other, at least two; no two neighbours are regular."""

    items: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Any one of the options, at least two; at most one of them is regular."""

    options: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """``min`` to ``max`` items (``None``: unbounded); not just one, and the item is not regular."""

    item: Part
    min: int
    max: int | None


Part: TypeAlias = Regular | Call | Series | Alternatives | Repeated

_REGULAR = (Chars, Concat, Union, Repeat, Assert, Look, Intersect, Complement)


def is_regular(part: Part) -> TypeGuard[Regular]:
    """Whether a part calls no rule."""
    return isinstance(part, _REGULAR)


def series(parts: Iterable[Part]) -> Part:
    """Parts one after the other."""
    items: list[Part] = []
    run: list[Regular] = []
    for part in parts:
        for item in part.items if isinstance(part, Series) else (part,):
            if is_regular(item):
                run.append(item)
                continue
            _close(run, items)
            items.append(item)
    if not items:
        return concat(run)
    _close(run, items)
    return items[0] if len(items) == 1 else Series(tuple(items))


def _close(run: list[Regular], items: list[Part]) -> None:
    joined = concat(run)
    if joined != EMPTY:
        items.append(joined)
    run.clear()


def alternatives(parts: Iterable[Part]) -> Part:
    """Any one of the parts, of which there is at least one."""
    regular: list[Regular] = []
    others: dict[Part, None] = {}
    for part in parts:
        for option in part.options if isinstance(part, Alternatives) else (part,):
            if is_regular(option):
                regular.append(option)
            else:
                others[option] = None
    if not others:
        return either(regular)
    options = [*([either(regular)] if regular else ()), *others]
    return options[0] if len(options) == 1 else Alternatives(tuple(options))


def repetition(part: Part, minimum: int, maximum: int | None) -> Part:
    """``minimum`` to ``maximum`` times a part."""
    if is_regular(part):
        return repeated(part, minimum, maximum)
    if (minimum, maximum) == (1, 1):
        return part
    return EMPTY if maximum == 0 else Repeated(part, minimum, maximum)


def calls_of(part: Part) -> Iterator[Key]:
    """The keys of all calls in a part, as often as they stand there."""
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            yield node.key
        elif isinstance(node, Series):
            stack.extend(node.items)
        elif isinstance(node, Alternatives):
            stack.extend(node.options)
        elif isinstance(node, Repeated):
            stack.append(node.item)
