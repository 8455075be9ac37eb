"""Building the trees of patterns: the constructors of ``grammar.regular`` that parsing needs
faster, or with more simplification.

None of them hashes a node: the set of a class such as Python's ``\\w`` has hundreds of ranges,
and hashing a tree at every level of nesting is quadratic. So repeated alternatives are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ..regular import (
    EMPTY,
    NEVER,
    Assert,
    Chars,
    CharSet,
    Concat,
    Look,
    Regular,
    Repeat,
    Union,
    repeat,
)

__all__ = ["either", "exact_character", "has_choice", "is_plain", "one_of", "repeated"]


@lru_cache(maxsize=4096)
def exact_character(character: str) -> Regular:
    """The tree of one literal character (nothing matches a lone surrogate)."""
    return one_of(CharSet.single(ord(character)))


def one_of(characters: CharSet) -> Regular:
    """One character of the set."""
    return Chars(characters) if characters.ranges else NEVER


def either(options: Iterable[Regular]) -> Regular:
    """The union of the options, with all single characters as one set."""
    ranges: list[tuple[int, int]] = []
    others: list[Regular] = []
    for option in options:
        for choice in option.options if isinstance(option, Union) else (option,):
            if isinstance(choice, Chars):
                ranges.extend(choice.set.ranges)
            else:
                others.append(choice)
    if ranges:
        others.append(Chars(CharSet.of(ranges)))
    return others[0] if len(others) == 1 else Union(tuple(others))


def repeated(item: Regular, minimum: int, maximum: int | None) -> Regular:
    """A repeat, also simplifying items that consume nothing or never match."""
    if isinstance(item, Assert | Look) or item == NEVER:
        # Once is as good as many times.
        return item if minimum > 0 else EMPTY
    return repeat(item, minimum, maximum)


def has_choice(node: Regular) -> bool:
    """Whether a match that starts at one place can end, or get to its end, in several ways."""
    if isinstance(node, Chars | Assert | Look):
        return False
    if isinstance(node, Concat):
        return any(map(has_choice, node.items))
    if isinstance(node, Repeat):
        return node.min != node.max or has_choice(node.item)
    return node != NEVER


def is_plain(node: Regular) -> bool:
    """Whether a tree asserts nothing about what is around it."""
    if isinstance(node, Assert | Look):
        return False
    if isinstance(node, Concat):
        return all(map(is_plain, node.items))
    if isinstance(node, Union):
        return all(map(is_plain, node.options))
    if isinstance(node, Repeat):
        return is_plain(node.item)
    # The operands of Intersect and Complement are whole-text languages of their own.
    return True
