"""Lowering: an automaton over characters becomes one over bytes.

Two spellings of a character are known:

* *text*: its UTF-8 bytes;
* *JSON string*: UTF-8 (but not for ``"``, ``\\`` and U+0000..U+001F), its two-character escape
  if it has one, or ``\\uXXXX``, as a surrogate pair above U+FFFF. Printable ASCII may be spelled
  ``\\u00XX`` only where ``any_escape`` is asked for.

**Representation.** Rows of 256 targets. Local states: 0 dead, 1 end (a JSON string closed), then
in JSON the state before the opening quote, then the character states in their order, then
*inner* states in the middle of a character. An inner state is determined by where the rest of
the character leads, so inner rows are built bottom-up and interned by content; those that lead
to one single state (the usual case) are built once for that state. Overlong
forms, surrogates and values above 10FFFF have no path. Columns that agree in every row are then
merged into byte classes.

The input is minimal and inner states are interned, so the result is minimal up to inner states
of different depth that happen to agree.
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

# Rows of the memo of inner states that lead to one single state.
_U1: Final = 0  # one continuation byte left
_U2: Final = 1
_U3: Final = 2
_UE0: Final = 3  # after lead bytes with a restricted second byte
_UED: Final = 4
_UF0: Final = 5
_UF4: Final = 6
_H1: Final = 7  # hex digits left
_H2: Final = 8
_H3: Final = 9
_S0: Final = 10  # a high surrogate is complete: the low one must follow
_S1: Final = 11  # … one hex digit of the high surrogate left
_S2: Final = 12
_MEMO: Final = 13

_NO_ROOM: Final = -1

# Argument types of the helpers.
_ARRAY: Final = "int32[::1]"
_MATRIX: Final = "int32[:, ::1]"
_ROW: Final = "int32[::1], int32[::1], int32[::1]"  # cuts, classes, one row of transitions
_TABLES: Final = ", int32[:, ::1], int32[::1], int64[::1], int32[:, ::1]"

_SCRATCH: Final = 16
"""Rows at the end of the table that are being built, one a nesting level."""
_SPARE: Final = 12
"""The scratch level that single-target rows are built in."""


@helper(f"int64({_ARRAY}, int64)")
def _interval(cuts, code_point):
    outlined()
    low = 0
    high = len(cuts)
    while high - low > 1:
        middle = (low + high) >> 1
        if cuts[middle] <= code_point:
            low = middle
        else:
            high = middle
    return low


@helper(f"int64({_ROW}, int64)")
def _target(cuts, classes, row, code_point):
    """Local state after a character (character state q is ``row[...] + shift``)."""
    return row[classes[_interval(cuts, code_point)]]


@helper(f"int64({_ROW}, int64, int64)")
def _uniform(cuts, classes, row, low, high):
    """The one state that all characters of a range lead to, or -1."""
    outlined()
    i = _interval(cuts, low)
    target = row[classes[i]]
    i += 1
    while i < len(cuts) and cuts[i] <= high:
        if row[classes[i]] != target:
            return -1
        i += 1
    return target


@helper(f"int64({_ROW}, int64, int64, boolean)")
def _uniform_escaped(cuts, classes, row, low, high, any_escape):
    """The same for ``\\uXXXX`` spellings, which printable ASCII may lack."""
    if not any_escape and low <= 0x7E and high >= 0x20:
        if low >= 0x20 and high <= 0x7E:
            return 0
        return -1
    return _uniform(cuts, classes, row, low, high)


@helper(f"int64({_MATRIX}, {_ARRAY}, int64[::1], int64)")
def _intern(rows, table, state, level):
    """Number of the scratch row ``level`` (at the end of ``rows``), or ``_NO_ROOM``.

    ``state[0]`` is the next free number; the all-zero row is dead.
    """
    outlined()
    source = len(rows) - 1 - level
    digest = 1469598103934665603
    empty = True
    for b in range(256):
        value = int(rows[source, b])
        if value != 0:
            empty = False
            digest = (digest ^ (value * 256 + b)) * 1099511628211
            digest &= 0x7FFFFFFFFFFF
    if empty:
        return 0
    mask = len(table) - 1
    slot = digest & mask
    while table[slot] != 0:
        found = table[slot]
        same = True
        for b in range(256):
            if rows[found, b] != rows[source, b]:
                same = False
                break
        if same:
            return found
        slot = (slot + 1) & mask
    number = state[0]
    if number + _SCRATCH >= len(rows) or 2 * number >= len(table):
        return _NO_ROOM
    for b in range(256):
        rows[number, b] = rows[source, b]
    table[slot] = number
    state[0] = number + 1
    return number


@helper(f"void({_MATRIX}, int64)")
def _clear(rows, level):
    outlined()
    source = len(rows) - 1 - level
    for b in range(256):
        rows[source, b] = 0


@helper(f"void({_MATRIX}, int64, int64, int64)")
def _hex(rows, level, digit, target):
    outlined()
    source = len(rows) - 1 - level
    if digit < 10:
        rows[source, 0x30 + digit] = target
    else:
        rows[source, 0x41 + digit - 10] = target
        rows[source, 0x61 + digit - 10] = target


@helper(f"int64(int64, int64{_TABLES})")
def _single(kind, target, rows, table, state, memo):
    """Build the inner state of a kind that leads to nothing but ``target`` -> its number.

    Kinds are numbered so that the next inner state of each chain is already in the memo.
    """
    outlined()
    level = _SPARE
    if kind == _U1:
        _clear(rows, level)
        for i in range(64):
            rows[len(rows) - 1 - _SPARE, 0x80 + i] = target
    elif kind == _U2 or kind == _U3:
        inner = memo[_U1 if kind == _U2 else _U2, target]
        _clear(rows, level)
        for i in range(64):
            rows[len(rows) - 1 - _SPARE, 0x80 + i] = inner
    elif kind == _UE0 or kind == _UED:
        inner = memo[_U1, target]
        _clear(rows, level)
        first = 0xA0 if kind == _UE0 else 0x80
        last = 0xBF if kind == _UE0 else 0x9F
        for b in range(first, last + 1):
            rows[len(rows) - 1 - _SPARE, b] = inner
    elif kind == _UF0 or kind == _UF4:
        inner = memo[_U2, target]
        _clear(rows, level)
        first = 0x90 if kind == _UF0 else 0x80
        last = 0xBF if kind == _UF0 else 0x8F
        for b in range(first, last + 1):
            rows[len(rows) - 1 - _SPARE, b] = inner
    elif kind == _H1:
        _clear(rows, level)
        for digit in range(16):
            _hex(rows, level, digit, target)
    elif kind == _H2 or kind == _H3:
        inner = memo[_H1 if kind == _H2 else _H2, target]
        _clear(rows, level)
        for digit in range(16):
            _hex(rows, level, digit, inner)
    elif kind == _S0:
        inner = memo[_H2, target]
        _clear(rows, level)
        for digit in range(12, 16):
            _hex(rows, level, digit, inner)
        return_state = _low_surrogate(rows, table, state)
        if return_state < 0:
            return return_state
        memo[kind, target] = return_state
        return return_state
    else:
        inner = memo[_S0 if kind == _S1 else _S1, target]
        _clear(rows, level)
        for digit in range(16):
            _hex(rows, level, digit, inner)
    number = _intern(rows, table, state, level)
    if number > 0:
        memo[kind, target] = number
    return number


@helper(f"int64({_MATRIX}, {_ARRAY}, int64[::1])")
def _low_surrogate(rows, table, state):
    """Put ``\\uD`` in front of the spare scratch row, which holds the second digit."""
    outlined()
    number = _intern(rows, table, state, _SPARE)
    if number <= 0:
        return number
    _clear(rows, _SPARE)
    _hex(rows, _SPARE, 13, number)
    number = _intern(rows, table, state, _SPARE)
    if number <= 0:
        return number
    _clear(rows, _SPARE)
    rows[len(rows) - 1 - _SPARE, 0x75] = number
    number = _intern(rows, table, state, _SPARE)
    if number <= 0:
        return number
    _clear(rows, _SPARE)
    rows[len(rows) - 1 - _SPARE, 0x5C] = number
    return _intern(rows, table, state, _SPARE)


@helper(f"int64(int64, boolean{_TABLES})")
def _prepare(target, json, rows, table, state, memo):
    """Build all inner states that lead to ``target`` alone -> 0 or ``_NO_ROOM``."""
    outlined()
    if target == 0 or memo[_U1, target] != 0:
        return 0
    for kind in range(_MEMO if json else _H1):
        if _single(kind, target, rows, table, state, memo) < 0:
            return _NO_ROOM
    return 0


@helper(f"int64({_ROW}, int64{_TABLES}, int64)")
def _utf8_block(cuts, classes, row, low, rows, table, state, memo, level):
    """Inner state for 64 code points from ``low`` on (one continuation byte left)."""
    outlined()
    target = _uniform(cuts, classes, row, low, low + 63)
    if target >= 0:
        return memo[_U1, target]
    _clear(rows, level)
    for i in range(64):
        rows[len(rows) - 1 - level, 0x80 + i] = _target(cuts, classes, row, low + i)
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, int64{_TABLES}, int64)")
def _utf8_block_2(cuts, classes, row, low, rows, table, state, memo, level):
    """Inner state for 4096 code points (two continuation bytes left), clipped to valid ones."""
    outlined()
    first = max(low, 0x800)
    last = low + 0xFFF
    if low == 0xD000:
        last = 0xD7FF
    target = _uniform(cuts, classes, row, first, last)
    if target >= 0:
        if low == 0:
            return memo[_UE0, target]
        if low == 0xD000:
            return memo[_UED, target]
        return memo[_U2, target]
    _clear(rows, level)
    for i in range(64):
        start = low + i * 64
        if start < first or start > last:
            continue
        inner = _utf8_block(cuts, classes, row, start, rows, table, state, memo, level + 1)
        if inner < 0:
            return inner
        rows[len(rows) - 1 - level, 0x80 + i] = inner
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, int64{_TABLES}, int64)")
def _utf8_block_3(cuts, classes, row, low, rows, table, state, memo, level):
    """Inner state for 2^18 code points (three continuation bytes left)."""
    outlined()
    first = max(low, 0x10000)
    last = min(low + 0x3FFFF, 0x10FFFF)
    target = _uniform(cuts, classes, row, first, last)
    if target >= 0:
        if low == 0:
            return memo[_UF0, target]
        if low == 0x100000:
            return memo[_UF4, target]
        return memo[_U3, target]
    _clear(rows, level)
    for i in range(64):
        start = low + i * 4096
        if start < first or start > last:
            continue
        inner = _utf8_block_2(cuts, classes, row, start, rows, table, state, memo, level + 1)
        if inner < 0:
            return inner
        rows[len(rows) - 1 - level, 0x80 + i] = inner
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, int64, boolean{_TABLES}, int64)")
def _hex_block(cuts, classes, row, low, any_escape, rows, table, state, memo, level):
    """16 code units (one hex digit left)."""
    outlined()
    target = _uniform_escaped(cuts, classes, row, low, low + 15, any_escape)
    if target >= 0:
        return memo[_H1, target]
    _clear(rows, level)
    for digit in range(16):
        unit = low + digit
        if any_escape or unit < 0x20 or unit > 0x7E:
            _hex(rows, level, digit, _target(cuts, classes, row, unit))
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, int64, boolean{_TABLES}, int64)")
def _hex_block_2(cuts, classes, row, low, any_escape, rows, table, state, memo, level):
    """256 code units (two hex digits left)."""
    outlined()
    target = _uniform_escaped(cuts, classes, row, low, low + 255, any_escape)
    if target >= 0:
        return memo[_H2, target]
    _clear(rows, level)
    for digit in range(16):
        inner = _hex_block(
            cuts, classes, row, low + digit * 16, any_escape, rows, table, state, memo, level + 1
        )
        if inner < 0:
            return inner
        _hex(rows, level, digit, inner)
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, int64{_TABLES}, int64)")
def _astral_block(cuts, classes, row, low, rows, table, state, memo, level):
    """1024 code points of one high surrogate, whose low surrogate follows."""
    outlined()
    target = _uniform(cuts, classes, row, low, low + 1023)
    if target >= 0:
        return memo[_S0, target]
    # Second digit of the low surrogate: C to F, 256 code points each.
    _clear(rows, level)
    for digit in range(4):
        inner = _hex_block_2(
            cuts, classes, row, low + digit * 256, True, rows, table, state, memo, level + 1
        )
        if inner < 0:
            return inner
        _hex(rows, level, 12 + digit, inner)
    for b in range(256):
        rows[len(rows) - 1 - _SPARE, b] = rows[len(rows) - 1 - level, b]
    return _low_surrogate(rows, table, state)


@helper(f"int64({_ROW}, int64{_TABLES}, int64)")
def _surrogate_digit(cuts, classes, row, digit, rows, table, state, memo, level):
    """After ``\\uD`` and a digit 8..B: two more digits complete the high surrogate."""
    outlined()
    low = 0x10000 + (digit - 8) * 0x40000
    target = _uniform(cuts, classes, row, low, low + 0x3FFFF)
    if target >= 0:
        return memo[_S2, target]
    _clear(rows, level)
    for x in range(16):
        start = low + x * 0x4000
        target = _uniform(cuts, classes, row, start, start + 0x3FFF)
        if target >= 0:
            _hex(rows, level, x, memo[_S1, target])
            continue
        _clear(rows, level + 1)
        for y in range(16):
            inner = _astral_block(
                cuts, classes, row, start + y * 0x400, rows, table, state, memo, level + 2
            )
            if inner < 0:
                return inner
            _hex(rows, level + 1, y, inner)
        inner = _intern(rows, table, state, level + 1)
        if inner < 0:
            return inner
        _hex(rows, level, x, inner)
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, boolean{_TABLES}, int64)")
def _hex_root(cuts, classes, row, any_escape, rows, table, state, memo, level):
    """After ``\\u``: four hex digits, and a second escape for a high surrogate."""
    outlined()
    _clear(rows, level)
    for d1 in range(16):
        low = d1 << 12
        if d1 != 13:
            target = _uniform_escaped(cuts, classes, row, low, low + 0xFFF, any_escape)
            if target >= 0:
                _hex(rows, level, d1, memo[_H3, target])
                continue
        _clear(rows, level + 1)
        for d2 in range(16):
            if d1 == 13 and d2 >= 12:
                continue
            if d1 == 13 and d2 >= 8:
                inner = _surrogate_digit(
                    cuts, classes, row, d2, rows, table, state, memo, level + 2
                )
            else:
                inner = _hex_block_2(
                    cuts, classes, row, low + d2 * 256, any_escape, rows, table, state, memo,
                    level + 2,
                )  # fmt: skip
            if inner < 0:
                return inner
            _hex(rows, level + 1, d2, inner)
        inner = _intern(rows, table, state, level + 1)
        if inner < 0:
            return inner
        _hex(rows, level, d1, inner)
    return _intern(rows, table, state, level)


@helper(f"int64({_ROW}, boolean{_TABLES}, int64)")
def _escape(cuts, classes, row, any_escape, rows, table, state, memo, level):
    """After the backslash."""
    outlined()
    root = 0
    if (
        any_escape
        or _uniform(cuts, classes, row, 0x00, 0x1F) != 0
        or _uniform(cuts, classes, row, 0x7F, 0xD7FF) != 0
        or _uniform(cuts, classes, row, 0xE000, 0x10FFFF) != 0
    ):
        root = _hex_root(cuts, classes, row, any_escape, rows, table, state, memo, level + 1)
        if root < 0:
            return root
    _clear(rows, level)
    source = len(rows) - 1 - level
    rows[source, 0x22] = _target(cuts, classes, row, 0x22)
    rows[source, 0x5C] = _target(cuts, classes, row, 0x5C)
    rows[source, 0x2F] = _target(cuts, classes, row, 0x2F)
    rows[source, 0x62] = _target(cuts, classes, row, 0x08)
    rows[source, 0x66] = _target(cuts, classes, row, 0x0C)
    rows[source, 0x6E] = _target(cuts, classes, row, 0x0A)
    rows[source, 0x72] = _target(cuts, classes, row, 0x0D)
    rows[source, 0x74] = _target(cuts, classes, row, 0x09)
    rows[source, 0x75] = root
    return _intern(rows, table, state, level)


@kernel(
    "int64(int32[::1], int32[::1], int32[:, ::1], boolean[::1], boolean, boolean,"
    " int32[:, ::1], int32[::1], int32[:, ::1], uint8[::1])"
)
def _lower(cuts, classes, trans, accepting, json, any_escape, rows, table, memo, byte_classes):
    """Fill ``rows`` and ``byte_classes`` -> number of states, or ``_NO_ROOM``.

    ``trans`` holds local target numbers already; ``rows`` and ``table`` and ``memo`` are zero,
    and the last ``_SCRATCH`` rows are scratch.
    """
    count = len(trans)
    state = np.zeros(1, np.int64)
    shift = 2 if json else 1
    state[0] = count + shift
    if state[0] + _SCRATCH >= len(rows):
        return _NO_ROOM
    if json:
        rows[2, 0x22] = 1 + shift
    for q in range(1, count):
        row = trans[q]
        source = q + shift
        i = 0
        while i < len(cuts) and cuts[i] < 0x80:
            target = row[classes[i]]
            last = min(cuts[i + 1] - 1 if i + 1 < len(cuts) else 0x7F, 0x7F)
            for b in range(cuts[i], last + 1):
                rows[source, b] = target
            i += 1
        for i in range(len(cuts)):
            # The last interval that begins at or below DEL may go on above it.
            wide = i + 1 == len(cuts) or cuts[i + 1] > 0x80
            if wide or any_escape or cuts[i] < 0x20:
                if _prepare(row[classes[i]], json, rows, table, state, memo) < 0:
                    return _NO_ROOM
        if json:
            for b in range(0x20):
                rows[source, b] = 0
            rows[source, 0x22] = 1 if accepting[q] else 0
            inner = _escape(cuts, classes, row, any_escape, rows, table, state, memo, 0)
            if inner < 0:
                return inner
            rows[source, 0x5C] = inner
        if _uniform(cuts, classes, row, 0x80, 0xD7FF) == 0:
            if _uniform(cuts, classes, row, 0xE000, 0x10FFFF) == 0:
                continue
        for lead in range(0xC2, 0xE0):
            inner = _utf8_block(cuts, classes, row, (lead & 0x1F) << 6, rows, table, state, memo, 0)
            if inner < 0:
                return inner
            rows[source, lead] = inner
        for lead in range(0xE0, 0xF0):
            inner = _utf8_block_2(
                cuts, classes, row, (lead & 0x0F) << 12, rows, table, state, memo, 0
            )
            if inner < 0:
                return inner
            rows[source, lead] = inner
        for lead in range(0xF0, 0xF5):
            inner = _utf8_block_3(
                cuts, classes, row, (lead & 0x07) << 18, rows, table, state, memo, 0
            )
            if inner < 0:
                return inner
            rows[source, lead] = inner
    total = state[0]

    # Byte classes: hash the columns in one pass over the rows, then verify in a second one.
    digests = [0] * 256
    for s in range(2, total):
        for b in range(256):
            digests[b] = ((digests[b] ^ int(rows[s, b])) * 1099511628211 + s) & 0x7FFFFFFFFFFF
    representatives = [0] * 256
    used = 0
    for b in range(256):
        found = -1
        for k in range(used):
            if digests[representatives[k]] == digests[b]:
                found = k
                break
        if found < 0:
            representatives[used] = b
            found = used
            used += 1
        byte_classes[b] = found
    for s in range(2, total):
        for b in range(256):
            if rows[s, b] != rows[s, representatives[byte_classes[b]]]:
                # A collision of 47-bit hashes: give every byte its own class.
                for k in range(256):
                    byte_classes[k] = k
                return total
    return total


@dataclass(frozen=True, slots=True, eq=False)
class ByteRows:
    """A byte automaton in local numbers: 0 dead, 1 end, 2 … the states of ``rows[2:]``.

    Attributes:
        rows: int32[n, classes], targets.
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
    count = len(dfa.trans)
    shift = 2 if json else 1
    trans = np.where(dfa.trans > 0, dfa.trans + shift, 0).astype(np.int32)
    room = 3 * count + 128
    while True:
        rows = np.zeros((room + _SCRATCH, 256), np.int32)
        table = np.zeros(1 << (2 * room).bit_length(), np.int32)
        memo = np.zeros((_MEMO, count + shift), np.int32)
        byte_classes = np.zeros(256, np.uint8)
        total = _lower(
            dfa.cuts, dfa.interval_class, trans, dfa.accepting, json, any_escape,
            rows, table, memo, byte_classes,
        )  # fmt: skip
        if total >= 0:
            break
        room *= 4
        if room > 4 * limit:
            raise LimitError(
                stage="lowering to bytes",
                limit="byte_states",
                allowed=limit,
                actual=room // 4,
                culprit=culprit,
            )
    _, columns = np.unique(byte_classes, return_index=True)
    return ByteRows(
        rows=np.ascontiguousarray(rows[:total, columns]),
        byte_classes=byte_classes,
        start=2,
        first_character=shift + 1,
        characters=count - 1,
    )


def lower_text(dfa: CharDFA, *, limit: int, culprit: str = "") -> ByteRows:
    """UTF-8 text in the language of ``dfa``."""
    return _run(dfa, json=False, any_escape=False, limit=limit, culprit=culprit)


def lower_string(dfa: CharDFA, *, any_escape: bool, limit: int, culprit: str = "") -> ByteRows:
    """JSON strings, quotes included, whose value is in the language of ``dfa``.

    Raises:
        LimitError: more than ``limit`` byte states are needed.
    """
    return _run(dfa, json=True, any_escape=any_escape, limit=limit, culprit=culprit)
