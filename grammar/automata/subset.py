"""Subset construction: from an NFA without larger looks to a raw DFA.

A DFA state is a set of *positions*: a ``CHAR`` node and a mode (see :mod:`.neighbours`), and
whether the text may end here. Splits and conditions are gone from the set: closures follow
them. Leaving them out merges most equivalent states before minimization.

If a set contains the loop of a final "any text" without a condition, everything matches from
there on and the rest of the set is dropped: a search would otherwise go on to tell apart what
it could match a second time.

Sets are interned by a hash that ignores order; to compare, the elements of the stored set are
looked up among the marks of the current one, so nothing is sorted.
"""

from __future__ import annotations

import numpy as np

from ...jit import helper, kernel
from .neighbours import Neighbours
from .table import BoolArray, IntArray, OffsetArray
from .thompson import AHEAD, BEHIND, CHAR, FINAL, SPLIT

__all__ = ["POSITIONS_PER_STATE", "determinize"]

POSITIONS_PER_STATE = 250
"""The sets of all DFA states together may hold this many positions per allowed state.

Unlike the number of states, their sum is what time and memory are proportional to: few states
of a pattern like ``(a|b?c?){30000}`` would fill gigabytes.
"""

_FULL_STATES, _FULL_POSITIONS = -1, -2


@helper(
    "Tuple((i8, b1))(i4[:, ::1], i8, i8, i8, i8, b1[:, ::1], i4[:, ::1], b1[:, ::1],"
    " i4[::1], i4[::1], i4[::1], i8)"
)
def _close(
    nodes: IntArray,
    entry: int,
    mode_bits: int,
    previous: int,
    stamp: int,
    behind: BoolArray,
    mode_after: IntArray,
    allowed: BoolArray,
    marks: IntArray,
    stack: IntArray,
    found: IntArray,
    n_found: int,
) -> tuple[int, bool]:
    """Add the positions reachable from ``entry`` to ``found``; says also if the text may end.

    Args:
        mode_bits: a position is ``node << mode_bits | mode``.
        previous: the symbol before here.
        stamp: positions already met in this closure have this mark.
    """
    edge = allowed.shape[1] - 1
    may_end = False
    depth = 1
    stack[0] = entry << mode_bits
    while depth > 0:
        depth -= 1
        position = stack[depth]
        if marks[position] == stamp:
            continue
        marks[position] = stamp
        node = position >> mode_bits
        mode = position & ((1 << mode_bits) - 1)
        op = nodes[node, 0]
        if op == CHAR:
            found[n_found] = position
            n_found += 1
        elif op == SPLIT:
            stack[depth] = (nodes[node, 3] << mode_bits) | mode
            stack[depth + 1] = (nodes[node, 2] << mode_bits) | mode
            depth += 2
        elif op == FINAL:
            may_end = may_end or allowed[mode, edge]
        elif op == BEHIND:
            if behind[nodes[node, 1], previous]:
                stack[depth] = (nodes[node, 2] << mode_bits) | mode
                depth += 1
        elif op == AHEAD:
            mode = mode_after[mode, nodes[node, 1]]
            if mode >= 0:
                stack[depth] = (nodes[node, 2] << mode_bits) | mode
                depth += 1
    return n_found, may_end


@kernel(
    "i8(i4[:, ::1], i8, b1[:, ::1], b1[:, ::1], i4[:, ::1], b1[:, ::1], i4[:, ::1], b1[::1],"
    " i8[::1], i8[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i8[::1], b1[::1])"
)
def _determinize(
    nodes: IntArray,
    entry: int,
    member: BoolArray,
    behind: BoolArray,
    mode_after: IntArray,
    allowed: BoolArray,
    trans: IntArray,
    accepting: BoolArray,
    digest: OffsetArray,
    set_start: OffsetArray,
    pool: IntArray,
    slots: IntArray,
    marks: IntArray,
    stack: IntArray,
    found: IntArray,
    weight: OffsetArray,
    is_any: BoolArray,
) -> int:
    """Explore the sets -> number of states; or ``_FULL_STATES`` or ``_FULL_POSITIONS``.

    Args:
        trans, accepting: filled as far as there are states; there is room for so many.
        digest: state -> the hash of its set.
        set_start, pool: state -> where its set is, and the positions of all sets.
        slots: hash table of the states.
        marks, stack, found: see :func:`_close`.
        weight: position -> its hash; a set's hash is their sum.
        is_any: set of characters -> whether it is as good as "any": true at first, everything
            else is zero.
    """
    width = member.shape[1]
    n_sets = member.shape[0]
    mode_bits = 0
    while 1 << mode_bits < mode_after.shape[0]:
        mode_bits += 1
    n_all = marks.shape[0]
    for i in range(n_all):
        # 31 bits times 32 bits: nothing overflows, compiled or not.
        low_bits = ((i + 1) * 0x9E3779B1 >> 16) & 0x7FFFFFFF
        high_bits = ((low_bits ^ i) * 0x85EBCA6B >> 16) & 0x7FFFFFFF
        weight[i] = (high_bits << 31) ^ low_bits
    # A set is as good as "any" if it has every class that some set has.
    for c in range(width):
        used = False
        for i in range(n_sets):
            used = used or member[i, c]
        for i in range(n_sets):
            is_any[i] = is_any[i] and (member[i, c] or not used)

    capacity = trans.shape[0]
    mask = slots.shape[0] - 1
    n = 1  # state 0: the empty set that does not accept
    stamp = 0
    s = 0
    while s < n:
        low = set_start[s]
        high = set_start[s + 1]
        for c in range(width):
            # State 0 stands for "before the start": its one transition makes state 1.
            stamp += 1
            n_found = 0
            may_end = False
            for i in range(1 if s == 0 else high - low):
                follow = entry
                if s > 0:
                    node = pool[low + i] >> mode_bits
                    mode = pool[low + i] & ((1 << mode_bits) - 1)
                    if not (member[nodes[node, 1], c] and allowed[mode, c]):
                        continue
                    follow = nodes[node, 2]
                n_found, ends = _close(
                    nodes,
                    follow,
                    mode_bits,
                    width if s == 0 else c,
                    stamp,
                    behind,
                    mode_after,
                    allowed,
                    marks,
                    stack,
                    found,
                    n_found,
                )
                may_end = may_end or ends
            if s > 0 and n_found == 0 and not may_end:
                continue
            for i in range(n_found):
                node = found[i] >> mode_bits
                follow = nodes[node, 2]
                if (
                    found[i] == node << mode_bits
                    and nodes[follow, 0] == SPLIT
                    and nodes[follow, 2] == node
                    and nodes[follow, 3] == FINAL
                    and is_any[nodes[node, 1]]
                ):
                    # The end is reached from here by the same split: may_end is true already.
                    found[0] = found[i]
                    n_found = 1
                    break
            key = 1 if may_end else 0
            for i in range(n_found):
                key = (key + weight[found[i]]) & 0x3FFFFFFFFFFFFFFF
            slot = (key ^ (key >> 31)) & mask
            target = slots[slot]
            while target > 0:
                if (
                    digest[target] == key
                    and accepting[target] == may_end
                    and set_start[target + 1] - set_start[target] == n_found
                ):
                    equal = True
                    for i in range(set_start[target], set_start[target + 1]):
                        if marks[pool[i]] != stamp:
                            equal = False
                            break
                    if equal:
                        break
                slot = (slot + 1) & mask
                target = slots[slot]
            if target == 0:
                used_room = set_start[n]
                if n == capacity:
                    return _FULL_STATES
                if used_room + n_found > pool.shape[0]:
                    return _FULL_POSITIONS
                target = n
                for i in range(n_found):
                    pool[used_room + i] = found[i]
                set_start[n + 1] = used_room + n_found
                digest[n] = key
                accepting[n] = may_end
                slots[slot] = n
                n += 1
            if s == 0:
                break
            trans[s, c] = target
        s += 1
    return n


def determinize(
    nodes: IntArray,
    entry: int,
    member: BoolArray,
    neighbours: Neighbours,
    *,
    max_states: int,
    max_positions: int,
) -> tuple[IntArray, BoolArray] | None:
    """Transitions and accepting states of the raw DFA (see :mod:`.table`).

    Args:
        nodes, entry: the NFA, see :mod:`.thompson`.
        member: the alphabet, see :mod:`.alphabet`.
        neighbours: its conditions.
        max_states, max_positions: beyond so many states, or positions in all of them, the
            result is ``None``.
    """
    # Sized for a DFA like the NFA; what is not starts over, see the product.
    states = len(nodes) + 8
    positions = 4 * states
    room = len(nodes) << (len(neighbours.mode_after) - 1).bit_length()
    while True:
        states = min(states, max_states + 1)
        positions = min(positions, max_positions)
        trans = np.zeros((states, member.shape[1]), np.int32)
        accepting = np.zeros(states, np.bool_)
        n = _determinize(
            nodes, entry, member, *neighbours, trans, accepting,
            np.zeros(states, np.int64), np.zeros(states + 1, np.int64),
            np.empty(positions, np.int32), np.zeros(1 << (2 * states - 1).bit_length(), np.int32),
            np.zeros(room, np.int32), np.empty(2 * room + 2, np.int32), np.empty(room, np.int32),
            np.empty(room, np.int64), np.ones(len(member), np.bool_),
        )  # fmt: skip
        if n >= 0:
            return trans[:n], accepting[:n]
        if n == _FULL_STATES:
            if states > max_states:
                return None
            states *= 8
        else:
            if positions == max_positions:
                return None
            positions *= 8
