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


@kernel("Tuple((i4[::1], b1[:, ::1], i8))(i4[::1], i4[::1], i4[::1])")
def _partition(
    cuts: IntArray, ranges: IntArray, set_start: IntArray
) -> tuple[IntArray, BoolArray, int]:
    """:func:`classes_of`, but ``member`` has more columns than the classes whose number follows."""
    n_sets = set_start.shape[0] - 1
    n_ranges = ranges.shape[0] // 2
    count = cuts.shape[0]

    # Every range is a run of intervals: [low[r], high[r]).
    low = np.empty(n_ranges, np.int32)
    high = np.empty(n_ranges, np.int32)
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

    classes = np.zeros(count, np.int32)
    size = np.zeros(count, np.int32)  # intervals in a class
    inside = np.zeros(count, np.int32)  # of them, in the current set
    moved = np.zeros(count, np.int32)  # where these go, plus 1
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

    member = np.zeros((n_sets, count), np.bool_)
    for s in range(n_sets):
        for r in range(set_start[s], set_start[s + 1]):
            for i in range(low[r], high[r]):
                member[s, classes[i]] = True
    return classes, member, n_classes


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
    interval_class, member, n_classes = _partition(cuts, ranges, set_start)
    return interval_class, np.ascontiguousarray(member[:, :n_classes])
