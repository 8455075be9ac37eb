"""Partition of the code points into the classes that a set of character sets tells apart.

Two code points are in the same class iff they are members of the same sets. Automata then
work on a handful of classes instead of 1,114,112 symbols. Surrogates are in no set, so they
share the class of whatever else is in none.

One partition is refined set by set. The alternative, one bit signature per interval and a
sort of the signatures, needs as many bits as there are sets.
"""

from __future__ import annotations

import numpy as np

from ...jit import kernel
from .table import BoolArray, IntArray

__all__ = ["classes_of"]


@kernel(
    "i8(i4[::1], i4[::1], i4[::1], i4[::1], b1[:, ::1], i4[::1], i4[::1], i4[::1], i4[::1],"
    " i4[::1])"
)
def _partition(
    cuts: IntArray,
    ranges: IntArray,
    set_start: IntArray,
    classes: IntArray,
    member: BoolArray,
    low: IntArray,
    high: IntArray,
    size: IntArray,
    inside: IntArray,
    moved: IntArray,
) -> int:
    """Fill ``classes``, and ``member`` as far as its columns are used -> number of classes.

    Args:
        low, high: range -> the intervals that it consists of.
        size: class -> its intervals.
        inside: class -> those of them in the current set.
        moved: class -> where these go, plus 1. Everything is zero at first.
    """
    n_sets = set_start.shape[0] - 1
    n_ranges = ranges.shape[0] // 2
    count = cuts.shape[0]

    # Every range is a run of intervals: [low[r], high[r]).
    for r in range(n_ranges):
        for side in range(2):
            bound = ranges[2 * r + side] + side
            left = 0
            right = count
            while left < right:
                middle = (left + right) // 2
                if cuts[middle] < bound:
                    left = middle + 1
                else:
                    right = middle
            if side == 0:
                low[r] = left
            else:
                high[r] = left

    size[0] = count
    n_classes = 1
    for s in range(n_sets):
        for r in range(set_start[s], set_start[s + 1]):
            for i in range(low[r], high[r]):
                inside[classes[i]] += 1
        for r in range(set_start[s], set_start[s + 1]):
            for i in range(low[r], high[r]):
                c = classes[i]
                if moved[c] == 0:
                    moved[c] = c + 1
                    if inside[c] != size[c]:
                        size[n_classes] = inside[c]
                        size[c] -= inside[c]
                        n_classes += 1
                        moved[c] = n_classes
                classes[i] = moved[c] - 1
        for c in range(n_classes):
            inside[c] = 0
            moved[c] = 0

    for s in range(n_sets):
        for r in range(set_start[s], set_start[s + 1]):
            for i in range(low[r], high[r]):
                member[s, classes[i]] = True
    return n_classes


def classes_of(cuts: IntArray, ranges: IntArray, set_start: IntArray) -> tuple[IntArray, BoolArray]:
    """Classes of the intervals between cuts, and which sets they are in.

    Args:
        cuts: int32[k], ascending, 0 and all ends of ranges among them.
        ranges: int32[2 * n_ranges], first and last code point of each range; the ranges of one
            set are disjoint.
        set_start: int32[n_sets + 1], where in ``ranges`` each set begins, in ranges.

    Returns:
        interval_class (see :mod:`.table`) and member: bool[n_sets, n_classes].
    """
    interval_class = np.zeros(len(cuts), np.int32)
    member = np.zeros((len(set_start) - 1, len(cuts)), np.bool_)
    low, high = np.zeros((2, len(ranges) // 2), np.int32)
    size, inside, moved = np.zeros((3, len(cuts)), np.int32)
    n_classes = _partition(
        cuts, ranges, set_start, interval_class, member, low, high, size, inside, moved
    )
    return interval_class, np.ascontiguousarray(member[:, :n_classes])
