"""Conditions on the one character before or after a position.

Anchors, word boundaries, multi-line anchors and looks at a single character are all of this
kind, and unlike larger looks they fit into plain subset construction. A condition is a pair
``(set, negative)``: the neighbour is (not) a member of character set number ``set``. The edge
of the text is a member of no set, so a negated condition holds there; ``^`` is "the character
before is not any", with ``ANY`` as the set.

What is *before* is known when a closure is computed: the class just read. What is *after* is
not: a thread remembers it as its **mode**, the set of symbols that may come next. Only
intersections of conditions are modes, so there are few: two in a pattern with ``$``, four with
``$`` and ``\\b``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .table import BoolArray, IntArray

__all__ = ["ANY", "MAX_MODES", "Condition", "Neighbours", "holds", "neighbour_tables"]

ANY = -1
"""The number that stands for the set of all characters."""

MAX_MODES = 64

Condition = tuple[int, bool]


class Neighbours(NamedTuple):
    """Conditions over the symbols: the classes 0..n_classes - 1, and n_classes for the edge.

    Attributes:
        behind: bool[n_behind, n_classes + 1], whether a condition holds after a symbol.
        mode_after: int32[n_modes, n_ahead], the mode of a thread in some mode that passes a
            condition on what is ahead; -1 if nothing can fulfil both. Mode 0: no condition.
        allowed: bool[n_modes, n_classes + 1], the symbols that may come next.
    """

    behind: BoolArray
    mode_after: IntArray
    allowed: BoolArray


def holds(condition: Condition, member: BoolArray) -> BoolArray:
    """bool[n_classes + 1]: for which neighbours a condition holds."""
    number, negative = condition
    row = np.zeros(member.shape[1] + 1, np.bool_)
    row[:-1] = True if number == ANY else member[number]
    return ~row if negative else row


def neighbour_tables(
    behind: Collection[Condition], ahead: Collection[Condition], member: BoolArray
) -> Neighbours | None:
    """The tables of some conditions, ``None`` if they need more than ``MAX_MODES`` modes.

    Args:
        member: bool[n_sets, n_classes], the alphabet.
    """
    width = member.shape[1]
    if not behind and not ahead:
        return _no_conditions(width)
    behind_rows = [holds(condition, member) for condition in behind]
    ahead_rows = [holds(condition, member) for condition in ahead]
    allowed = [np.ones(width + 1, np.bool_)]
    numbers = {allowed[0].tobytes(): 0, bytes(width + 1): -1}
    after: list[list[int]] = []
    for mode in allowed:
        row: list[int] = []
        for condition in ahead_rows:
            both = mode & condition
            number = numbers.setdefault(both.tobytes(), len(allowed))
            if number == len(allowed):
                allowed.append(both)
            row.append(number)
        after.append(row)
        if len(allowed) > MAX_MODES:
            return None
    return Neighbours(
        np.array(behind_rows, np.bool_).reshape(len(behind_rows), width + 1),
        np.array(after, np.int32).reshape(len(allowed), len(ahead_rows)),
        np.array(allowed, np.bool_),
    )


@lru_cache(maxsize=64)
def _no_conditions(width: int) -> Neighbours:
    """The tables of most patterns."""
    return Neighbours(
        np.zeros((0, width + 1), np.bool_),
        np.zeros((1, 0), np.int32),
        np.ones((1, width + 1), np.bool_),
    )
