"""Two automata run side by side: intersection, union, difference, and probes of them.

The alphabets are joined first (the common refinement of both partitions), then pairs of states
are explored from the start. A pair from which the wanted combination can never be reached (one
component dead and the other one not enough) *is* the dead state, so an intersection explores
only what both can still do.

Kernels do not grow arrays (that alone would double the compile time): when the room given to
one is used up it says so, and is called again with eight times as much.
"""

from __future__ import annotations

import numpy as np

from ...jit import helper, kernel
from .table import BoolArray, IntArray, Table

__all__ = ["BOTH", "EITHER", "FIRST_ONLY", "accepts_any", "product"]

# Truth tables: bit 2 * a + b says if a text is wanted that the first accepts iff a, the
# second iff b. Bit 0 is never set: a text that neither accepts is not wanted.
BOTH = 0b1000
EITHER = 0b1110
FIRST_ONLY = 0b0100

_ACCEPTS, _FULL = -1, -2


@helper("i8(i4[::1], i4[::1], i4[::1], i8, i8)")
def _slot_of(slots: IntArray, state_a: IntArray, state_b: IntArray, a: int, b: int) -> int:
    """Where the pair (a, b) is in the open-addressing table, or the free slot for it."""
    mask = slots.shape[0] - 1
    # Both factors have 32 bits at most: nothing overflows, compiled or not.
    slot: int = ((int(a) * 0x9E3779B1 + int(b) * 0x85EBCA6B) >> 15) & mask
    while slots[slot] > 0 and (state_a[slots[slot]] != a or state_b[slots[slot]] != b):
        slot = (slot + 1) & mask
    return slot


@kernel(
    "i8(i4[::1], i4[::1], i4[:, ::1], b1[::1], i4[::1], i4[::1], i4[:, ::1], b1[::1], i8, b1,"
    " i4[::1], i4[::1], i4[::1], b1[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1],"
    " i4[::1])"
)
def _product(
    cuts_a: IntArray,
    class_a: IntArray,
    trans_a: IntArray,
    accepting_a: BoolArray,
    cuts_b: IntArray,
    class_b: IntArray,
    trans_b: IntArray,
    accepting_b: BoolArray,
    wanted: int,
    probe: bool,
    cuts: IntArray,
    interval_class: IntArray,
    trans: IntArray,
    accepting: BoolArray,
    counts: IntArray,
    of_a: IntArray,
    of_b: IntArray,
    joint: IntArray,
    state_a: IntArray,
    state_b: IntArray,
    slots: IntArray,
) -> int:
    """Explore the pairs of states -> their number; or ``_ACCEPTS`` or ``_FULL``.

    Args:
        probe: stop at the first accepting pair.
        cuts, interval_class, trans, accepting: filled with a raw table, ``trans`` flat; the
            numbers of intervals and of classes are in ``counts``.
        of_a, of_b: class -> its classes in the two tables.
        joint: pair of classes -> class plus 1.
        state_a, state_b: the pairs. There is room for so many.
        slots: hash table of the pairs. Everything is zero at first.
    """
    width_b = trans_b.shape[1]
    capacity = state_a.shape[0]
    width = 0
    count = 0
    i = 0
    j = 0
    while i < cuts_a.shape[0] or j < cuts_b.shape[0]:
        at_a = cuts_a[i] if i < cuts_a.shape[0] else 0x110000
        at_b = cuts_b[j] if j < cuts_b.shape[0] else 0x110000
        cuts[count] = at_a if at_a < at_b else at_b
        if at_a <= at_b:
            i += 1
        if at_b <= at_a:
            j += 1
        pair = class_a[i - 1] * width_b + class_b[j - 1]
        if joint[pair] == 0:
            of_a[width] = class_a[i - 1]
            of_b[width] = class_b[j - 1]
            width += 1
            joint[pair] = width
        interval_class[count] = joint[pair] - 1
        count += 1
    counts[0] = count
    counts[1] = width

    first_suffices = (wanted & 0b0100) != 0
    second_suffices = (wanted & 0b0010) != 0
    state_a[1] = 1
    state_b[1] = 1
    slots[_slot_of(slots, state_a, state_b, state_a[1], state_b[1])] = 1
    n = 2
    s = 1
    while s < n:
        p = state_a[s]
        q = state_b[s]
        truth = (2 if accepting_a[p] else 0) + (1 if accepting_b[q] else 0)
        accepting[s] = ((wanted >> truth) & 1) == 1
        if probe and accepting[s]:
            return _ACCEPTS
        for c in range(width):
            t_a = trans_a[p, of_a[c]]
            t_b = trans_b[q, of_b[c]]
            if (t_a == 0 and not (second_suffices and t_b > 0)) or (
                t_b == 0 and not first_suffices
            ):
                continue
            slot = _slot_of(slots, state_a, state_b, t_a, t_b)
            if slots[slot] == 0:
                if n == capacity:
                    return _FULL
                state_a[n] = t_a
                state_b[n] = t_b
                slots[slot] = n
                n += 1
            trans[s * width + c] = slots[slot]
        s += 1
    return n


def _explore(a: Table, b: Table, wanted: int, probe: bool, capacity: int) -> tuple[Table, int]:
    """A raw table, cut to its size, and what :func:`_product` said."""
    borders = len(a.cuts) + len(b.cuts)
    pairs = a.trans.shape[1] * b.trans.shape[1]
    cuts, interval_class, of_a, of_b = np.zeros((4, borders), np.int32)
    counts = np.zeros(2, np.int32)
    # Memory that stays zero is never touched, so a generous capacity costs nothing.
    trans = np.zeros(capacity * min(pairs, borders), np.int32)
    accepting = np.zeros(capacity, np.bool_)
    state_a, state_b = np.zeros((2, capacity), np.int32)
    slots = np.zeros(1 << (2 * capacity - 1).bit_length(), np.int32)
    n = _product(
        *a, *b, wanted, probe, cuts, interval_class, trans, accepting, counts,
        of_a, of_b, np.zeros(pairs, np.int32), state_a, state_b, slots,
    )  # fmt: skip
    count, width = counts.tolist()
    size = max(n, 0)
    rows = trans[: size * width].reshape(size, width)
    return Table(cuts[:count], interval_class[:count], rows, accepting[:size]), n


def product(a: Table, b: Table, wanted: int, *, limit: int) -> Table | None:
    """Raw table of a combination of two canonical tables, ``None`` beyond ``limit`` states.

    Args:
        wanted: one of the truth tables above.
    """
    # Most products are about as large as their larger part; what is not starts over.
    capacity = len(a.accepting) + len(b.accepting) + 8
    while True:
        capacity = min(capacity, limit + 1)
        table, n = _explore(a, b, wanted, False, capacity)
        if n >= 0:
            return table
        if capacity > limit:
            return None
        capacity *= 8


def accepts_any(a: Table, b: Table, wanted: int, *, limit: int) -> bool | None:
    """Whether the combination accepts any text, ``None`` beyond ``limit`` states.

    Stops at the first accepting pair.
    """
    capacity = len(a.accepting) + len(b.accepting) + 8
    while True:
        capacity = min(capacity, limit + 1)
        _, n = _explore(a, b, wanted, True, capacity)
        if n != _FULL:
            return bool(n == _ACCEPTS)
        if capacity > limit:
            return None
        capacity *= 8
