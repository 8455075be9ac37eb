"""The canonical automaton of a language: trimmed, minimal, numbered in one way only.

Equal languages get byte-equal arrays, so comparing, hashing and caching languages is comparing
bytes. Steps, all in one kernel because most automata are small and a call costs more than the
work:

1. *Trim*: only states from which acceptance can be reached stay.
2. *Minimize*. Where every transition leads to a higher number, as in texts of bounded length, a
   pass from the last state to the first looks each one up by its transitions. All others are
   minimized by Hopcroft's partition refinement (Hopcroft 1971), on the partial automaton:
   transitions to the dead state are not edges, so there is no block of dead states; in return
   all initial blocks start as splitters. O(m log n) for m live transitions. Moore's rounds
   would be O(n^2) on a chain such as ``.{0,1000}``.
3. *Merge equal columns* and number the classes by their first interval.
4. *Number the states* breadth first from the start, in class order.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...jit import kernel
from .table import BoolArray, IntArray, Table

__all__ = ["canonical"]

D = TypeVar("D", bound=np.generic)


@kernel("i8(i4[:, ::1], b1[::1], i4[::1], i4[::1], i4[::1], i4[::1])")
def _merge_acyclic(
    trans: IntArray,
    accepting: BoolArray,
    block: IntArray,
    first: IntArray,
    order: IntArray,
    slots: IntArray,
) -> int:
    """Find the blocks if every transition leads to a higher number -> how many, else -1.

    Args:
        block, first, order: filled as :func:`_canonical` takes them, where only the first
            state of each block is in ``order``; ``block`` is zero.
        slots: hash table of the blocks, zero.
    """
    width = trans.shape[1]
    for s in range(1, trans.shape[0]):
        for c in range(width):
            if trans[s, c] != 0 and trans[s, c] <= s:
                return -1
    mask = slots.shape[0] - 1
    n_blocks = 0
    for s in range(trans.shape[0] - 1, 0, -1):
        live = accepting[s]
        digest = 1 if live else 0
        for c in range(width):
            after = int(block[trans[s, c]])
            live = live or after > 0
            # 31 bits times 32 bits: nothing overflows, compiled or not.
            digest = (((digest ^ after) * 0x9E3779B1) >> 16) & 0x7FFFFFFF
        if not live:
            continue
        slot = digest & mask
        while slots[slot] > 0:
            other = order[first[slots[slot]]]
            c = 0
            if accepting[other] == accepting[s]:
                while c < width and block[trans[other, c]] == block[trans[s, c]]:
                    c += 1
                if c == width:
                    break
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            order[n_blocks] = s
            n_blocks += 1
            first[n_blocks] = n_blocks - 1
            slots[slot] = n_blocks
        block[s] = slots[slot]
    return n_blocks


@kernel(
    "i8(i4[::1], i4[::1], i4[:, ::1], b1[::1], i8, i4[::1], i4[::1], i4[::1], b1[::1], i4[::1],"
    " i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1],"
    " i4[::1])"
)
def _canonical(
    cuts: IntArray,
    interval_class: IntArray,
    trans: IntArray,
    accepting: BoolArray,
    n_blocks: int,
    new_cuts: IntArray,
    new_class: IntArray,
    new_trans: IntArray,
    new_accepting: BoolArray,
    counts: IntArray,
    head: IntArray,
    source: IntArray,
    block: IntArray,
    first: IntArray,
    last: IntArray,
    order: IntArray,
    place: IntArray,
    marked: IntArray,
    queue: IntArray,
    touched: IntArray,
    splitter: IntArray,
) -> int:
    """Fill the ``new`` arrays -> number of states.

    Args:
        n_blocks: number of blocks if ``block``, ``first`` and ``order`` have them already, else
            -1.
        new_trans: flat. ``counts`` gets the numbers of intervals and of classes; behind them is
            room for four numbers a class.
        head, source: the reverse edges, bucketed by target and class.
        block: state -> its block, from 1; 0 = dead.
        first, last: block -> where in ``order`` its states begin and end.
        place: state -> its index in ``order``.
        marked, queue, touched, splitter: of blocks or states, for work; all are zero.
    """
    n = trans.shape[0]
    width = trans.shape[1]
    if n_blocks < 0:
        n_blocks = 0
        # Reverse edges, bucketed by (target, class).
        for s in range(1, n):
            for c in range(width):
                if trans[s, c] > 0:
                    head[trans[s, c] * width + c] += 1
        for bucket in range(n * width):
            head[bucket + 1] += head[bucket]
        for s in range(1, n):
            for c in range(width):
                if trans[s, c] > 0:
                    bucket = trans[s, c] * width + c
                    head[bucket] -= 1
                    source[head[bucket]] = s

        # Live states, accepting ones first: they are the two initial blocks.
        count = 0
        for s in range(1, n):
            if accepting[s]:
                touched[s] = 1
                order[count] = s
                count += 1
        n_accepting = count
        i = 0
        while i < count:
            t = order[i]
            for e in range(head[t * width], head[t * width + width]):
                s = source[e]
                if touched[s] == 0:
                    touched[s] = 1
                    order[count] = s
                    count += 1
            i += 1

        for i in range(count):
            place[order[i]] = i
            block[order[i]] = 1 if i < n_accepting else 2
        if n_accepting > 0:
            last[1] = n_accepting
            n_blocks = 1
            if count > n_accepting:
                first[2] = n_accepting
                last[2] = count
                n_blocks = 2
        n_queued = n_blocks
        queue[0] = 1
        queue[1] = 2
        while n_queued > 0:
            n_queued -= 1
            b = queue[n_queued]
            # The splitter is the block as it is now, even if it splits itself meanwhile.
            size = last[b] - first[b]
            for i in range(size):
                splitter[i] = order[first[b] + i]
            for c in range(width):
                n_touched = 0
                for i in range(size):
                    bucket = splitter[i] * width + c
                    for e in range(head[bucket], head[bucket + 1]):
                        s = source[e]
                        owner = block[s]
                        if marked[owner] == 0:
                            touched[n_touched] = owner
                            n_touched += 1
                        # Swap to the marked front of its block.
                        here = place[s]
                        there = first[owner] + marked[owner]
                        other = order[there]
                        order[there] = s
                        place[s] = there
                        order[here] = other
                        place[other] = here
                        marked[owner] += 1
                for i in range(n_touched):
                    owner = touched[i]
                    middle = first[owner] + marked[owner]
                    marked[owner] = 0
                    if middle == last[owner]:
                        continue
                    # The smaller part becomes a new block, and it alone is queued: so every
                    # block is queued once, when it is made.
                    n_blocks += 1
                    if middle - first[owner] <= last[owner] - middle:
                        first[n_blocks] = first[owner]
                        last[n_blocks] = middle
                        first[owner] = middle
                    else:
                        first[n_blocks] = middle
                        last[n_blocks] = last[owner]
                        last[owner] = middle
                    for j in range(first[n_blocks], last[n_blocks]):
                        block[order[j]] = n_blocks
                    queue[n_queued] = n_blocks
                    n_queued += 1

    # Columns of the quotient: equal ones get the same representative.
    digest = 2
    same_as = digest + width
    renamed = same_as + width  # class -> new class plus 1
    column = renamed + width
    for b in range(1, n_blocks + 1):
        s = order[first[b]]
        for c in range(width):
            # 31 bits times 32 bits: nothing overflows, compiled or not.
            mixed = int(counts[digest + c] ^ block[trans[s, c]]) * 0x9E3779B1
            counts[digest + c] = (mixed >> 16) & 0x7FFFFFFF
    for c in range(width):
        counts[same_as + c] = c
        for d in range(c):
            if counts[same_as + d] == d and counts[digest + d] == counts[digest + c]:
                b = 1
                while b <= n_blocks and (
                    block[trans[order[first[b]], c]] == block[trans[order[first[b]], d]]
                ):
                    b += 1
                if b > n_blocks:
                    counts[same_as + c] = d
                    break

    n_intervals = 0
    n_classes = 0
    for i in range(cuts.shape[0]):
        c = counts[same_as + interval_class[i]]
        if counts[renamed + c] == 0:
            counts[column + n_classes] = c
            n_classes += 1
            counts[renamed + c] = n_classes
        if n_intervals == 0 or new_class[n_intervals - 1] != counts[renamed + c] - 1:
            new_cuts[n_intervals] = cuts[i]
            new_class[n_intervals] = counts[renamed + c] - 1
            n_intervals += 1
    counts[0] = n_intervals
    counts[1] = n_classes

    # No live state at all: the loop below only visits the start, which has no block.
    number = marked  # block -> its new state, 0 = not reached yet
    found = queue  # new state -> its old representative
    number[block[1]] = 1
    found[1] = 1
    n_found = 1
    i = 1
    while i <= n_found:
        s = found[i]
        new_accepting[i] = accepting[s]
        for c in range(n_classes):
            t = trans[s, counts[column + c]]
            b = block[t]
            if b > 0:
                if number[b] == 0:
                    n_found += 1
                    number[b] = n_found
                    found[n_found] = t
                new_trans[i * n_classes + c] = number[b]
        i += 1
    return n_found + 1


def canonical(raw: Table, *, is_minimal: bool = False) -> Table:
    """The canonical table of a raw one.

    Args:
        is_minimal: states 1.. are already live and pairwise different; only renumber them and
            merge classes.
    """
    n, width = raw.trans.shape
    new_cuts = np.empty(len(raw.cuts), np.int32)
    new_class = np.empty(len(raw.cuts), np.int32)
    trans = np.zeros(n * width, np.int32)
    accepting = np.zeros(n, np.bool_)
    counts = np.zeros(4 * width + 2, np.int32)
    work = np.zeros((9, n + 1), np.int32)
    block, first, _, order, *_ = work
    if is_minimal:
        block[1:n] = first[1:n] = order[1:n] = np.arange(1, n)
        blocks = n - 1
    else:
        slots = np.zeros(1 << (2 * n).bit_length(), np.int32)
        blocks = _merge_acyclic(raw.trans, raw.accepting, block, first, order, slots)
    edges = n * width if blocks < 0 else 0
    states = _canonical(
        *raw, blocks, new_cuts, new_class, trans, accepting, counts,
        np.zeros(edges + 1, np.int32), np.empty(edges, np.int32), *work,
    )  # fmt: skip
    intervals, classes = counts[:2].tolist()
    return Table(
        new_cuts[:intervals].copy(),
        new_class[:intervals].copy(),
        _fitted(trans, states * classes).reshape(states, classes),
        _fitted(accepting, states),
    )


def _fitted(array: npt.NDArray[D], size: int) -> npt.NDArray[D]:
    """The beginning of an array, without holding on to memory that is not in it."""
    return array if len(array) == size else array[:size].copy()
