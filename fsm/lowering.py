"""Lowering: an automaton over characters becomes one over bytes.

Two spellings of a character are known:

* *text*: its UTF-8 bytes;
* *JSON string*: UTF-8 (but not for ``"``, ``\\`` and U+0000..U+001F), its two-character escape
  if it has one, or ``\\uXXXX``, as a surrogate pair above U+FFFF. Printable ASCII may be spelled
  ``\\u00XX`` only where ``any_escape`` is asked for.

Two steps, a kernel each.

**The alphabet.** How a character is spelled does not depend on the state that reads it, only on
the classes that the automaton tells apart. So the bytes of one character are an automaton of its
own, with a class at each end: its *nodes* stand in the middle of a character. They are made from
the last byte to the first, level by level. A level is a function that is constant on intervals:
code points to classes at first; :func:`_group` then turns it into the function of what is left of
the number when its last digit (six bits in UTF-8, a hexadecimal digit in an escape) is a node of
its own. Equal nodes are one node, so what depends on a whole block of code points costs one step,
however large the block. Overlong forms, surrogates and values above 10FFFF are cut out of the
functions and have no path. Bytes that all nodes treat alike are one byte class; since the classes
of a canonical automaton differ in some state, no other bytes could be alike in the result.

**The states.** Each character state gets a row that is the alphabet's first one with its own
targets in place of the classes, and each node a copy that leads to these targets. Copies are
interned by content and made from the last byte to the first, so that states share what agrees.

Local states: 0 dead, 1 end (a JSON string closed), then in JSON the state before the opening
quote, then the character states in their order; copies of nodes lie behind them. The input is
minimal and copies are interned, so the result is minimal up to states inside characters of
different length that happen to agree.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import LimitError
from ..grammar.automata.dfa import CharDFA
from ..jit import helper, kernel, outlined

__all__ = ["END", "ByteRows", "lower_string", "lower_text"]

END: Final = 1
"""Local number of the state after the closing quote of a JSON string."""

_NO_ROOM: Final = -1
_QUOTE_COLUMN: Final = -1
"""What the alphabet's first row says of the quote: it depends on whether the state accepts."""

# The functions over intervals that are in use at the same time. Function ``f`` has its pieces in
# two rows: ``pieces[2 * f]`` where each begins, ``pieces[2 * f + 1]`` its value. The last one is
# followed by the end of the domain, and ``state[f]`` is their number.
_CHARACTERS: Final = 0
_LEVEL: Final = 1  # 1 .. 4: levels
_FUNCTIONS: Final = 5
_NODES: Final = _FUNCTIONS  # state[_NODES]: number of nodes
_STATE_SLOTS: Final = _FUNCTIONS + 1

_HEX: Final = 0  # the first digit of a row that has hexadecimal ones
_LOW_SURROGATE: Final = 12  # the digits C..F that a low surrogate's second one may be
_CONTINUATION: Final = 16  # continuation bytes

_TABLES: Final = "int32[:, ::1], int32[::1], int32[:, ::1], int64[::1], int64"


@helper("int64(int64)")
def _weight(column):
    """What a value in a column counts for in a row's digest; never zero.

    23 bits, so that the digest of 256 values of 31 bits does not overflow, compiled or not.
    """
    return ((column * 0x9E3779B1) >> 8) & 0x7FFFFF | 1


@helper("int64(int64, int64)")
def _slot(digest, mask):
    """Where the search for a digest begins."""
    return ((((digest >> 31) ^ digest) & 0x7FFFFFFF) * 0x9E3779B1 >> 12) & mask


@helper("void(int32[:, ::1], int64, int64, int64, int64)")
def _put(nodes, row, kind, digit, value):
    """Write what follows a digit of a kind into a node's row."""
    digit += kind
    if kind == _CONTINUATION:
        nodes[row, 0x80 - _CONTINUATION + digit] = value
    elif digit < 10:
        nodes[row, 0x30 + digit] = value
    else:
        nodes[row, 0x41 - 10 + digit] = value
        nodes[row, 0x61 - 10 + digit] = value


@helper("int64(int32[:, ::1], int32[::1], int64[::1], int64)")
def _intern(nodes, slots, state, width):
    """Value of the row behind the last node, which becomes a node if there is none like it.

    Leaves an empty row behind the last node.
    """
    outlined()
    row = state[_NODES]
    digest = 0
    for b in range(256):
        digest += int(nodes[row, b]) * _weight(b)
    if digest == 0:
        return 0
    mask = len(slots) - 1
    slot = _slot(digest, mask)
    while slots[slot] != 0:
        found = slots[slot] - 1
        same = True
        for b in range(256):
            if nodes[found, b] != nodes[row, b]:
                same = False
                break
        if same:
            for b in range(256):
                nodes[row, b] = 0
            return found + width + 1
        slot = (slot + 1) & mask
    slots[slot] = row + 1
    state[_NODES] = row + 1
    for b in range(256):
        nodes[row + 1, b] = 0
    return row + width + 1


@helper(f"void({_TABLES}, int64, int64, int64, int64, int64, int64, int64, int64)")
def _group(
    nodes, slots, pieces, state, width, source, into,
    kind, radix, offset, blocks, dead_low, dead_high,
):  # fmt: skip
    """Make the function ``into`` of ``block`` from the function ``source`` of ``offset + block *
    radix + digit``: its value is the node that has ``source`` of each digit.

    From ``dead_low`` to ``dead_high`` (excluded) the source counts as 0.
    """
    outlined()
    total = 0
    i = 0
    block = 0
    while block < blocks:
        low = offset + block * radix
        while pieces[2 * source, i + 1] <= low:
            i += 1
        value = pieces[2 * source + 1, i]
        end = pieces[2 * source, i + 1]
        if low < dead_low:
            if end > dead_low:
                end = dead_low
        elif low < dead_high:
            value = 0
            end = dead_high
        row = state[_NODES]
        after = block + 1
        if end >= low + radix:
            after = (end - offset) // radix
            if after > blocks:
                after = blocks
            if value != 0:
                for digit in range(radix):
                    _put(nodes, row, kind, digit, value)
        else:
            j = i
            for digit in range(radix):
                while pieces[2 * source, j + 1] <= low + digit:
                    j += 1
                if low + digit < dead_low or low + digit >= dead_high:
                    _put(nodes, row, kind, digit, pieces[2 * source + 1, j])
        made = _intern(nodes, slots, state, width)
        if total == 0 or pieces[2 * into + 1, total - 1] != made:
            pieces[2 * into, total] = block
            pieces[2 * into + 1, total] = made
            total += 1
        block = after
    pieces[2 * into, total] = blocks
    state[into] = total


@helper("int64(int32[:, ::1], int64, int64)")
def _value(pieces, function, argument):
    """Value of a function."""
    outlined()
    i = 0
    while pieces[2 * function, i + 1] <= argument:
        i += 1
    return pieces[2 * function + 1, i]


@helper(f"int64({_TABLES}, boolean)")
def _escapes(nodes, slots, pieces, state, width, any_escape):
    """What follows the ``u`` of an escape, as a value."""
    outlined()
    # U+10000 and above: the low surrogate's digits, its prefix, then the high one's.
    _group(nodes, slots, pieces, state, width, _CHARACTERS, 1, _HEX, 16, 0x10000, 0x10000, 0, 0)
    _group(nodes, slots, pieces, state, width, 1, 2, _HEX, 16, 0, 0x1000, 0, 0)
    _group(nodes, slots, pieces, state, width, 2, 1, _LOW_SURROGATE, 4, 0, 0x400, 0, 0)
    for i in range(state[1]):
        value = pieces[3, i]
        if value != 0:
            _put(nodes, state[_NODES], _HEX, 13, value)
            value = _intern(nodes, slots, state, width)
            nodes[state[_NODES], 0x75] = value
            value = _intern(nodes, slots, state, width)
            nodes[state[_NODES], 0x5C] = value
            pieces[3, i] = _intern(nodes, slots, state, width)
    _group(nodes, slots, pieces, state, width, 1, 2, _HEX, 16, 0, 0x40, 0, 0)
    _group(nodes, slots, pieces, state, width, 2, 4, _HEX, 16, 0, 4, 0, 0)
    # Below: four digits. Those after a D are put together by hand.
    from_ascii = 0 if any_escape else 0x20
    to_ascii = 0 if any_escape else 0x7F
    _group(
        nodes, slots, pieces, state, width, _CHARACTERS, 1,
        _HEX, 16, 0, 0x1000, from_ascii, to_ascii,
    )  # fmt: skip
    _group(nodes, slots, pieces, state, width, 1, 2, _HEX, 16, 0, 0x100, 0, 0)
    _group(nodes, slots, pieces, state, width, 2, 3, _HEX, 16, 0, 0x10, 0xD0, 0xE0)
    for digit in range(12):
        if digit < 8:
            _put(nodes, state[_NODES], _HEX, digit, _value(pieces, 2, 0xD0 + digit))
        else:
            _put(nodes, state[_NODES], _HEX, digit, _value(pieces, 4, digit - 8))
    after_d = _intern(nodes, slots, state, width)
    for digit in range(16):
        _put(nodes, state[_NODES], _HEX, digit, _value(pieces, 3, digit))
    _put(nodes, state[_NODES], _HEX, 13, after_d)
    return _intern(nodes, slots, state, width)


@kernel(
    "int64(int32[::1], int32[::1], int32[:, ::1], boolean, boolean, int32[:, ::1], int32[::1],"
    " int32[:, ::1], int64[::1], uint8[::1])"
)
def _spell(
    cuts, classes, trans, json, any_escape, nodes, slots, pieces, state, byte_classes
):  # fmt: skip
    """Make the alphabet -> number of byte classes.

    Args:
        nodes: a row a node, then the first row of a character, over byte classes in the end.
            Values are 0 for dead, ``1 + c`` for a character of class ``c``, then nodes.
            ``nodes[0]`` is zero, and so are ``slots`` and ``state``.
        slots: hash table of the nodes.
        pieces, state: see ``_CHARACTERS``; behind ``_STATE_SLOTS``, 512 numbers.
        byte_classes: uint8[256], filled.
    """
    width = trans.shape[1]
    first = len(nodes) - 1
    for c in range(width):
        # Classes that no state reads, such as that of the surrogates, are dead.
        pieces[2, c] = 0
        for q in range(1, len(trans)):
            if trans[q, c] != 0:
                pieces[2, c] = c + 1
                break
    for i in range(len(cuts)):
        pieces[0, i] = cuts[i]
        pieces[1, i] = pieces[2, classes[i]]
    # A whole number of blocks of 2^18 code points.
    pieces[0, len(cuts)] = 0x110000
    pieces[1, len(cuts)] = 0
    pieces[0, len(cuts) + 1] = 0x140000

    i = 0
    for b in range(0x80):
        while pieces[0, i + 1] <= b:
            i += 1
        nodes[first, b] = pieces[1, i]
    for b in range(0x80, 256):
        nodes[first, b] = 0
    if pieces[0, i + 1] < 0x110000 or pieces[1, i] != 0:
        _group(
            nodes, slots, pieces, state, width, 0, 1, _CONTINUATION, 64, 0, 0x5000, 0, 0x80
        )  # fmt: skip
        _group(nodes, slots, pieces, state, width, 1, 2, _CONTINUATION, 64, 0, 0x140, 0, 0x20)
        _group(nodes, slots, pieces, state, width, 2, 3, _CONTINUATION, 64, 0, 5, 0, 0x10)
        for b in range(0xC2, 0xE0):
            nodes[first, b] = _value(pieces, 1, b - 0xC0)
        for b in range(0xE0, 0xF0):
            nodes[first, b] = _value(pieces, 2, b - 0xE0)
        for b in range(0xF0, 0xF5):
            nodes[first, b] = _value(pieces, 3, b - 0xF0)
    if json:
        root = _escapes(nodes, slots, pieces, state, width, any_escape)
        row = state[_NODES]
        nodes[row, 0x22] = nodes[first, 0x22]
        nodes[row, 0x5C] = nodes[first, 0x5C]
        nodes[row, 0x2F] = nodes[first, 0x2F]
        nodes[row, 0x62] = nodes[first, 0x08]
        nodes[row, 0x66] = nodes[first, 0x0C]
        nodes[row, 0x6E] = nodes[first, 0x0A]
        nodes[row, 0x72] = nodes[first, 0x0D]
        nodes[row, 0x74] = nodes[first, 0x09]
        nodes[row, 0x75] = root
        nodes[first, 0x5C] = _intern(nodes, slots, state, width)
        nodes[first, 0x22] = _QUOTE_COLUMN
        for b in range(0x20):
            nodes[first, b] = 0

    # Byte classes: hash the columns in one pass over the rows, then verify in a second one.
    count = state[_NODES]
    for b in range(256):
        nodes[count, b] = nodes[first, b]
    digests = _STATE_SLOTS
    for row in range(count + 1):
        for b in range(256):
            mixed = (state[digests + b] ^ int(nodes[row, b])) * 0x9E3779B1
            state[digests + b] = (mixed >> 5) & 0x7FFFFFFF
    representatives = digests + 256
    used = 0
    k = 0
    for b in range(256):
        # Most bytes are in the class of the byte before.
        if b == 0 or state[digests + b] != state[digests + b - 1]:
            k = 0
            while k < used and state[digests + state[representatives + k]] != state[digests + b]:
                k += 1
            if k == used:
                state[representatives + k] = b
                used += 1
        byte_classes[b] = k
    for row in range(count + 1):
        for b in range(256):
            if nodes[row, b] != nodes[row, state[representatives + int(byte_classes[b])]]:
                # Two different columns with one hash: give every byte its own class.
                for k in range(256):
                    byte_classes[k] = k
                return 256
    for row in range(count + 1):
        for k in range(used):
            nodes[row, k] = nodes[row, state[representatives + k]]
    return used


@kernel(
    "int64(int32[:, ::1], boolean[::1], int32[:, ::1], int64, int64, int32[:, ::1], int32[::1],"
    " int32[::1])"
)
def _copy(trans, accepting, nodes, count, quote, rows, slots, copies):
    """Fill ``rows`` from 2 on -> number of states, or ``_NO_ROOM``.

    Args:
        nodes, count: the alphabet, and its number of nodes.
        quote: in JSON the byte class of the quote, else -1.
        rows: of as many columns as there are byte classes.
        slots: hash table of the copies, zero.
        copies: room for a number a node.
    """
    width = trans.shape[1]
    columns = rows.shape[1]
    shift = 1 if quote < 0 else 2
    number = len(trans) + shift
    if number > len(rows):
        return _NO_ROOM
    if quote >= 0:
        for b in range(columns):
            rows[2, b] = 0
        rows[2, quote] = 1 + shift
    mask = len(slots) - 1
    for q in range(1, len(trans)):
        for k in range(count + 1):
            row = number if k < count else q + shift
            if row >= len(rows):
                return _NO_ROOM
            digest = 0
            for b in range(columns):
                value = nodes[k, b]
                target = 0
                if value > width:
                    target = int(copies[value - width - 1])
                elif value > 0:
                    target = int(trans[q, value - 1])
                    if target > 0:
                        target += shift
                elif value < 0 and accepting[q]:
                    target = 1
                rows[row, b] = target
                digest += target * _weight(b)
            if k == count:
                break
            if digest == 0:
                copies[k] = 0
                continue
            slot = _slot(digest, mask)
            while slots[slot] != 0:
                found = slots[slot]
                same = True
                for b in range(columns):
                    if rows[found, b] != rows[row, b]:
                        same = False
                        break
                if same:
                    break
                slot = (slot + 1) & mask
            if slots[slot] == 0:
                slots[slot] = number
                number += 1
            copies[k] = slots[slot]
    return number


@dataclass(frozen=True, slots=True, eq=False)
class ByteRows:
    """A byte automaton in local numbers: 0 dead, 1 end, 2 … the states of ``rows[2:]``.

    Attributes:
        rows: int32[n, classes], targets; the first two are zero.
        byte_classes: uint8[256].
        start: the first state.
        characters: number of character states; they are consecutive from
            ``first_character`` on, in the order of the character automaton (its state 1 first).
        first_character: local number of character state 1.
    """

    rows: npt.NDArray[np.int32]
    byte_classes: npt.NDArray[np.uint8]
    start: int
    first_character: int
    characters: int


def _run(dfa: CharDFA, *, json: bool, any_escape: bool, limit: int, culprit: str) -> ByteRows:
    # Each level of a function has at most two pieces for each border that it began with.
    room = 2 * len(dfa.cuts) + 32
    nodes = np.empty((16 * room, 256), np.int32)
    nodes[0] = 0
    state = np.zeros(_STATE_SLOTS + 512, np.int64)
    byte_classes = np.empty(256, np.uint8)
    columns = _spell(
        dfa.cuts, dfa.interval_class, dfa.trans, json, any_escape, nodes,
        np.zeros(1 << (32 * room - 1).bit_length(), np.int32),
        np.empty((2 * _FUNCTIONS, room), np.int32), state, byte_classes,
    )  # fmt: skip
    made = int(state[_NODES])
    count = len(dfa.trans)
    # Nothing is written beyond what is used, so memory that is only reserved costs nothing.
    most = min((made + 1) * count + 3, limit + 2)
    rows = np.empty((most, columns), np.int32)
    rows[:2] = 0
    total = _copy(
        dfa.trans, dfa.accepting, nodes, made, int(byte_classes[0x22]) if json else -1, rows,
        np.zeros(1 << (2 * most - 1).bit_length(), np.int32), np.empty(made + 1, np.int32),
    )  # fmt: skip
    if total < 0:
        raise LimitError(
            stage="lowering to bytes",
            limit="byte_states",
            allowed=limit,
            actual=limit + 1,
            culprit=culprit,
        )
    shift = 2 if json else 1
    return ByteRows(
        rows=rows[:total],
        byte_classes=byte_classes,
        start=2,
        first_character=shift + 1,
        characters=count - 1,
    )


def lower_text(dfa: CharDFA, *, limit: int, culprit: str = "") -> ByteRows:
    """UTF-8 text in the language of ``dfa``.

    Raises:
        LimitError: more than ``limit`` byte states are needed.
    """
    return _run(dfa, json=False, any_escape=False, limit=limit, culprit=culprit)


def lower_string(dfa: CharDFA, *, any_escape: bool, limit: int, culprit: str = "") -> ByteRows:
    """JSON strings, quotes included, whose value is in the language of ``dfa``.

    Raises:
        LimitError: more than ``limit`` byte states are needed.
    """
    return _run(dfa, json=True, any_escape=any_escape, limit=limit, culprit=culprit)
