"""Minimal automaton of a list of strings, without a trie in between.

Strings come sorted. While one is added, the states along the previous one are still open; those
below the common prefix are closed, deepest first, and a closed state is looked up by its edges,
so equal suffixes are shared at once (Daciuk, Mihov, Watson & Watson 2000). Open edges form a
stack: the edges of a state lie above those of its parent. Linear in the total length.
"""

from __future__ import annotations

import numpy as np

from ...jit import helper, kernel
from .table import BoolArray, IntArray, OffsetArray

__all__ = ["minimal_acyclic"]


@helper("i8(i4[::1], i4[::1], b1[::1], i4[:, ::1], i4[:, ::1], i8, i8, b1)")
def _slot_of(
    slots: IntArray,
    edge_start: IntArray,
    final: BoolArray,
    pool: IntArray,
    edges: IntArray,
    low: int,
    high: int,
    is_final: bool,
) -> int:
    """Where the state with ``edges[low:high]`` is in the table, or the free slot for it."""
    mask = slots.shape[0] - 1
    # 31 bits times 32 bits: nothing overflows, compiled or not.
    mixed = 1 if is_final else 0
    for i in range(low, high):
        for k in range(2):
            mixed = (((mixed ^ int(edges[i, k])) * 0x9E3779B1) >> 16) & 0x7FFFFFFF
    slot: int = mixed & mask
    while slots[slot] > 0:
        state = slots[slot]
        start = edge_start[state]
        if final[state] == is_final and edge_start[state + 1] - start == high - low:
            equal = True
            for i in range(high - low):
                if pool[start + i, 0] != edges[low + i, 0] or (
                    pool[start + i, 1] != edges[low + i, 1]
                ):
                    equal = False
                    break
            if equal:
                break
        slot = (slot + 1) & mask
    return slot


@kernel(
    "i8(i4[::1], i8[::1], i8, i4[::1], b1[::1], i4[:, ::1], i4[:, ::1], i4[::1], i4[::1],"
    " i4[::1], b1[::1])"
)
def _minimal_acyclic(
    symbols: IntArray,
    starts: OffsetArray,
    width: int,
    trans: IntArray,
    final: BoolArray,
    pool: IntArray,
    edges: IntArray,
    edge_start: IntArray,
    slots: IntArray,
    base: IntArray,
    is_final: BoolArray,
) -> int:
    """Fill ``trans``, which is flat, and ``final`` -> number of states, 0 if they have no room.

    Args:
        pool, edge_start: the edges of closed states, class and target; where each one's begin.
        edges: open edges, a stack.
        slots: hash table of the closed states.
        base, is_final: depth -> where its state's open edges begin, whether it accepts.
    """
    n_strings = starts.shape[0] - 1
    # Closed states are numbered from 2: number 1 is kept for the root, which is closed last.
    n_closed = 2
    top = 0
    depth = 0
    for i in range(n_strings + 1):
        shared = 0
        if 0 < i < n_strings:
            while (
                shared < depth
                and starts[i] + shared < starts[i + 1]
                and symbols[starts[i - 1] + shared] == symbols[starts[i] + shared]
            ):
                shared += 1
        while depth > shared:
            slot = _slot_of(
                slots, edge_start, final, pool, edges, base[depth], top, is_final[depth]
            )
            if slots[slot] == 0:
                at = edge_start[n_closed]
                for e in range(base[depth], top):
                    pool[at, 0] = edges[e, 0]
                    pool[at, 1] = edges[e, 1]
                    at += 1
                final[n_closed] = is_final[depth]
                slots[slot] = n_closed
                n_closed += 1
                edge_start[n_closed] = at
            top = base[depth]
            edges[top, 0] = symbols[starts[i - 1] + depth - 1]
            edges[top, 1] = slots[slot]
            top += 1
            depth -= 1
        if i < n_strings:
            while depth < starts[i + 1] - starts[i]:
                depth += 1
                base[depth] = top
                is_final[depth] = False
            is_final[depth] = True

    if n_closed * width > trans.shape[0]:
        return 0
    for s in range(2, n_closed):
        for e in range(edge_start[s], edge_start[s + 1]):
            trans[s * width + pool[e, 0]] = pool[e, 1]
    for e in range(top):
        trans[width + edges[e, 0]] = edges[e, 1]
    final[1] = is_final[0]
    return n_closed


def minimal_acyclic(
    symbols: IntArray, starts: OffsetArray, width: int, max_entries: int
) -> tuple[IntArray, BoolArray]:
    """Transitions and accepting states of the minimal automaton (see :mod:`.table`).

    Args:
        symbols: int32[total length], the classes of the strings' characters.
        starts: int64[n_strings + 1], where each string begins; strings are sorted by
            their symbols and different.
        width: number of classes.
        max_entries: largest transition table to make; an empty table says it is too small.
    """
    total = len(symbols)
    longest = int(np.diff(starts).max()) if len(starts) > 1 else 0
    trans = np.zeros(min((total + 3) * width, max_entries), np.int32)
    final = np.zeros(total + 3, np.bool_)
    n = _minimal_acyclic(
        symbols, starts, width, trans, final,
        np.empty((total + 1, 2), np.int32), np.empty((total + 1, 2), np.int32),
        np.zeros(total + 4, np.int32), np.zeros(1 << (2 * total + 3).bit_length(), np.int32),
        np.zeros(longest + 2, np.int32), np.zeros(longest + 2, np.bool_),
    )  # fmt: skip
    return trans[: n * width].reshape(n, width), final[:n]
