"""The canonical automaton of a language: trimmed, minimal, numbered in one way only.

Equal languages get byte-equal arrays, so comparing, hashing and caching languages is comparing
bytes. Steps, all in one kernel because most automata are small and a call costs more than the
work:

1. *Trim*: only states from which acceptance can be reached stay.
2. *Minimize* by Hopcroft's partition refinement (Hopcroft 1971), on the partial automaton:
   transitions to the dead state are not edges, so there is no block of dead states; in return
   all initial blocks start as splitters. O(m log n) for m live transitions. Moore's rounds
   would be O(n^2) on a chain such as ``.{0,1000}``.
3. *Merge equal columns* and number the classes by their first interval.
4. *Number the states* breadth first from the start, in class order.
"""

from __future__ import annotations

import numpy as np

from ...jit import kernel
from .table import BoolArray, IntArray, Table

__all__ = ["canonical"]


@kernel(
    "Tuple((i4[::1], i4[::1], i4[:, ::1], b1[::1], i8))(i4[::1], i4[::1], i4[:, ::1], b1[::1], b1)"
)
def _canonical(
    cuts: IntArray,
    interval_class: IntArray,
    trans: IntArray,
    accepting: BoolArray,
    is_minimal: bool,
) -> tuple[IntArray, IntArray, IntArray, BoolArray, int]:
    """:func:`canonical`, but with the number of intervals that are used."""
    n = trans.shape[0]
    width = trans.shape[1]
    block = np.zeros(n, np.int32)  # state -> its block, from 1; 0 = dead
    first = np.zeros(n + 1, np.int32)  # block -> where its states begin in order
    order = np.empty(n, np.int32)
    n_blocks = 0

    if is_minimal:
        for s in range(1, n):
            block[s] = s
            order[s] = s
            first[s] = s
        n_blocks = n - 1
    else:
        # Reverse edges, bucketed by (target, class).
        head = np.zeros(n * width + 1, np.int32)
        for s in range(1, n):
            for c in range(width):
                if trans[s, c] > 0:
                    head[trans[s, c] * width + c] += 1
        for bucket in range(n * width):
            head[bucket + 1] += head[bucket]
        source = np.empty(head[n * width], np.int32)
        for s in range(1, n):
            for c in range(width):
                if trans[s, c] > 0:
                    bucket = trans[s, c] * width + c
                    head[bucket] -= 1
                    source[head[bucket]] = s

        # Live states, accepting ones first: they are the two initial blocks.
        live = np.zeros(n, np.bool_)
        count = 0
        for s in range(1, n):
            if accepting[s]:
                live[s] = True
                order[count] = s
                count += 1
        n_accepting = count
        i = 0
        while i < count:
            t = order[i]
            for e in range(head[t * width], head[t * width + width]):
                s = source[e]
                if not live[s]:
                    live[s] = True
                    order[count] = s
                    count += 1
            i += 1

        last = np.empty(n + 1, np.int32)  # block -> where its states end
        place = np.empty(n, np.int32)  # state -> its index in order
        marked = np.zeros(n + 1, np.int32)
        queue = np.empty(n + 1, np.int32)
        touched = np.empty(n, np.int32)
        splitter = np.empty(n, np.int32)
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
    digest = np.zeros(width, np.int64)
    for b in range(1, n_blocks + 1):
        s = order[first[b]]
        for c in range(width):
            # 31 bits times 32 bits: nothing overflows, compiled or not.
            mixed = (digest[c] ^ block[trans[s, c]]) * 0x9E3779B1
            digest[c] = (mixed >> 16) & 0x7FFFFFFF
    same_as = np.empty(width, np.int32)
    for c in range(width):
        same_as[c] = c
        for d in range(c):
            if same_as[d] == d and digest[d] == digest[c]:
                b = 1
                while b <= n_blocks and (
                    block[trans[order[first[b]], c]] == block[trans[order[first[b]], d]]
                ):
                    b += 1
                if b > n_blocks:
                    same_as[c] = d
                    break

    renamed = np.zeros(width, np.int32)  # class -> new class plus 1
    column = np.empty(width, np.int32)
    new_cuts = np.empty(cuts.shape[0], np.int32)
    new_class = np.empty(cuts.shape[0], np.int32)
    n_intervals = 0
    n_classes = 0
    for i in range(cuts.shape[0]):
        c = same_as[interval_class[i]]
        if renamed[c] == 0:
            column[n_classes] = c
            n_classes += 1
            renamed[c] = n_classes
        if n_intervals == 0 or new_class[n_intervals - 1] != renamed[c] - 1:
            new_cuts[n_intervals] = cuts[i]
            new_class[n_intervals] = renamed[c] - 1
            n_intervals += 1

    # No live state at all: the loop below only visits the start, which has no block.
    n_new = max(n_blocks, 1) + 1
    number = np.zeros(n_new, np.int32)  # block -> its new state, 0 = not reached yet
    found = np.empty(n_new, np.int32)  # new state -> its old representative
    new_trans = np.zeros((n_new, n_classes), np.int32)
    new_accepting = np.zeros(n_new, np.bool_)
    number[block[1]] = 1
    found[1] = 1
    n_found = 1
    i = 1
    while i <= n_found:
        s = found[i]
        new_accepting[i] = accepting[s]
        for c in range(n_classes):
            t = trans[s, column[c]]
            b = block[t]
            if b > 0:
                if number[b] == 0:
                    n_found += 1
                    number[b] = n_found
                    found[n_found] = t
                new_trans[i, c] = number[b]
        i += 1
    return new_cuts, new_class, new_trans, new_accepting, n_intervals


def canonical(raw: Table, *, is_minimal: bool = False) -> Table:
    """The canonical table of a raw one.

    Args:
        is_minimal: states 1.. are already live and pairwise different; only renumber them and
            merge classes.
    """
    cuts, interval_class, trans, accepting, n_intervals = _canonical(*raw, is_minimal)
    return Table(cuts[:n_intervals], interval_class[:n_intervals], trans, accepting)
