"""The lexeme store: byte automata of all lexemes of a compiler, in one numbering of states.

Lexemes repeat across grammars (key literals, free strings, numbers, patterns), so they are kept
once for each compiler and found by value. States are only ever added. How a state stores its
transitions depends on its kind:

* a *literal* is a chain of one-byte states, the target being the next number;
* a *classed* state has a row over its lexeme's byte classes;
* a *counted* state is the character boundary of the one automaton of all bounded free strings;
  threads carry the bounds, so every ``minLength``/``maxLength`` shares it;
* an *override* state has another state's row but for a few bytes: an undeclared key is a free
  key that is redirected along the declared names, and may not close where one is complete.

States at a character boundary inside a JSON string have a row of *inside tokens* (see
:mod:`.engine`), computed when a mask first needs it. If few tokens stay inside, the state is
demoted to a narrow one, whose tokens are walked.
"""

# The kernel is typed by numba, not by annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import re
from array import array
from bisect import bisect_right, insort
from typing import Final, NamedTuple

import numpy as np

from ..errors import LimitError
from ..grammar import ir
from ..grammar.automata.dfa import CharDFA
from ..grammar.regular import CharSet
from ..jit import kernel
from ..limits import Limits
from . import layout as L
from .lowering import ByteRows, lower_string, lower_text
from .memory import Arena
from .prefix_runs import PrefixRuns

__all__ = ["Lexeme", "LexemeStore"]

_QUOTE: Final = 0x22

_BYTE_CODES: Final = [(byte << L.CODE_ARGUMENT) | L.KIND_BYTE for byte in range(256)]

_PLAIN_KEY: Final = re.compile(r"[ !#-.0-\[\]-~]*")
"""Names with one spelling: printable ASCII without quote, backslash and slash."""


class Lexeme(NamedTuple):
    """Where a thread in this lexeme starts.

    Attributes:
        start: state; it never accepts.
        counter: the thread's initial counter.
        nullable: the lexeme may also be empty.
    """

    start: int
    counter: int
    nullable: bool


@kernel(
    "int64(uint8[::1], int64[::1], int32[:, ::1], uint8[::1], int64, int64, int64, int64,"
    " int64[::1], int64[::1], int32[::1])"
)
def _override_trie(  # type: ignore[no-untyped-def]
    blob, offsets, rows, classes, root, shift, start, pool_start,
    codes, live, pool,
):  # fmt: skip
    """Write override states for a trie of distinct sorted keys -> number of trie nodes.

    Args:
        blob, offsets: the keys.
        rows, classes, root, shift: the free key automaton, its first character state, and
            what turns its local numbers into states of the store.
        start: state of trie node 0 (the empty prefix); node ``n`` is ``start + n``, in preorder.
        pool_start: where their overrides begin in ``pool``.
    """
    room = offsets[-1] + 1
    base = np.empty(room, np.int64)
    parents = np.empty(room, np.int64)
    symbols = np.empty(room, np.int64)
    counts = np.zeros(room, np.int64)
    ends = np.zeros(room, np.int64)
    path = np.empty(room, np.int64)
    base[0] = root
    path[0] = 0
    nodes = 1
    for k in range(len(offsets) - 1):
        first = offsets[k]
        last = offsets[k + 1]
        shared = 0
        if k > 0:
            previous = offsets[k - 1]
            while (
                shared < last - first
                and previous + shared < first
                and blob[previous + shared] == blob[first + shared]
            ):
                shared += 1
        node = path[shared]
        for i in range(first + shared, last):
            base[nodes] = rows[base[node], classes[blob[i]]]
            parents[nodes] = node
            symbols[nodes] = blob[i]
            counts[node] += 1
            node = nodes
            nodes += 1
            path[i - first + 1] = node
        ends[node] = 1
    where = pool_start
    for node in range(nodes):
        state = start + node
        free = base[node] + shift
        # An override only closes fewer names: the tokens inside are those of the free key.
        codes[state] = (where << L.CODE_ARGUMENT) | (codes[free] & L.FLAGS) | L.KIND_OVERRIDE
        for w in range(4):
            live[4 * state + w] = live[4 * free + w]
        pool[where] = free
        pool[where + 1] = 0
        where += 2 + 2 * (counts[node] + ends[node])
        if ends[node]:
            pool[where - 2] = _QUOTE
            pool[where - 1] = L.STATE_DEAD
        if node > 0:
            # Children come after their parent, so its record exists.
            record = codes[start + parents[node]] >> L.CODE_ARGUMENT
            slot = record + 2 + 2 * pool[record + 1]
            pool[slot] = symbols[node]
            pool[slot + 1] = state
            pool[record + 1] += 1
    for node in range(nodes):
        pool[(codes[start + node] >> L.CODE_ARGUMENT) + 1] += ends[node]
    return nodes


@kernel(
    "void(int32[:, ::1], int64[:, ::1], int64, int64, int64, int32[::1], int64[::1], int64[::1])"
)
def _write_rows(  # type: ignore[no-untyped-def]
    rows, members, start, pool, class_map, transitions, codes, live
):  # fmt: skip
    """Write the states of ``rows[2:]`` into the store.

    Args:
        members: the 256 bits of each byte class.
        start: number of the first state.
        pool: where its transitions begin.
    """
    columns = rows.shape[1]
    shift = start - 2
    for i in range(2, len(rows)):
        state = i + shift
        codes[state] = (pool << L.CODE_ARGUMENT) | (class_map << L.CODE_CLASSES) | L.KIND_CLASSED
        for w in range(4):
            live[4 * state + w] = 0
        for k in range(columns):
            target = int(rows[i, k])
            if target != L.STATE_DEAD:
                for w in range(4):
                    live[4 * state + w] |= members[k, w]
                if target > L.STATE_END:
                    target += shift
            transitions[pool + k] = target
        pool += columns


class LexemeStore:
    """All lexemes of one compiler. Not thread-safe: the compiler's lock guards it.

    Attributes:
        arena: the store block (``S_*``).
        closers_are_plain: no token that closes a string spells printable ASCII as ``\\u00XX``, so
            what closes any string closes any key.
        known: lexemes by the identity of those leaves that the store keeps alive. Most leaves are
            met again as the same objects, and hashing one takes longer than what is done with it.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.closers_are_plain = False
        self.arena = Arena(L.S_SLOTS)
        self._states = L.STATE_BARRIER + 1
        capacity = 4096
        self._codes = self.arena.allocate(L.S_CODE, capacity, np.int64).data
        self.arena.allocate(L.S_ROW, capacity, np.int64)
        self.arena.allocate(L.S_LIVE, 4 * capacity, np.int64)
        self.arena.allocate(L.S_TRANSITIONS, 4 * capacity, np.int32)
        self.arena.allocate(L.S_CLASS_MAPS, 256 * 16, np.uint8)
        self.arena.allocate(L.S_OVERRIDES, 2 * capacity, np.int32)
        self._transitions = 0
        self._class_maps = 0
        self._overrides = 0
        self.arena.array(L.S_CODE)[L.STATE_END] = L.FLAG_ACCEPTING | L.FLAG_FINAL
        self._lexemes: dict[ir.Expr, Lexeme] = {}
        self.known: dict[int, Lexeme] = {}
        # String lexemes by their start state, for the analysis of their states.
        self._strings: dict[int, CharDFA] = {}
        self._string_starts: list[int] = []
        self._runs: dict[bytes, PrefixRuns] = {}
        self._new_boundaries: list[tuple[int, int]] = []
        self._free_strings: dict[bool, int] = {}
        self._free_key: tuple[ByteRows, int] | None = None

    @property
    def state_count(self) -> int:
        """Number of states so far."""
        return self._states

    # ------------------------------------------------------------------ lookup by value

    def lexeme(self, expr: ir.Expr) -> Lexeme:
        """The lexeme of an IR leaf, added on first use.

        Raises:
            LimitError: its automaton is too large.
        """
        found = self._lexemes.get(expr)
        if found is None:
            found = self._lexemes[expr] = self.known[id(expr)] = self._add(expr)
        return found

    def _add(self, expr: ir.Expr) -> Lexeme:
        if isinstance(expr, ir.Literal):
            return self._add_literal(expr.data)
        if isinstance(expr, ir.TextLexeme):
            return self._add_text(expr.language)
        if isinstance(expr, ir.StringLexeme):
            rows = lower_string(expr.language, any_escape=False, limit=self._limits.byte_states)
            start = self._append(rows)
            self._mark_boundaries(rows, start)
            self._strings[start] = expr.language
            insort(self._string_starts, start)
            return Lexeme(start, L.NO_COUNTER, False)
        if isinstance(expr, ir.CountedString):
            allowed = L.COUNT_UNBOUNDED if expr.max is None else expr.max
            if expr.min >= L.COUNT_UNBOUNDED >> 1 or allowed > L.COUNT_UNBOUNDED:
                raise LimitError(
                    stage="string length",
                    limit="byte_states",
                    allowed=L.COUNT_UNBOUNDED >> 1,
                    actual=max(expr.min, allowed),
                )
            if expr.min == 0 and expr.max is None:
                return Lexeme(self.free_string(counted=False), L.NO_COUNTER, False)
            return Lexeme(self.free_string(counted=True), (expr.min << 32) | allowed, False)
        if isinstance(expr, ir.UndeclaredKey):
            return self._add_undeclared(expr.declared)
        raise TypeError(f"{type(expr).__name__} is not a lexeme")

    # ------------------------------------------------------------------ kinds of lexemes

    def _add_literal(self, data: bytes) -> Lexeme:
        if not data:
            return Lexeme(L.STATE_DEAD, L.NO_COUNTER, True)
        start = self._reserve(len(data))
        stop = start + len(data)
        # Without NumPy, whose every call costs more than a short literal.
        codes = array(self._codes.format, [_BYTE_CODES[byte] for byte in data])
        codes[-1] += L.KIND_LAST_BYTE - L.KIND_BYTE
        self._codes[start:stop] = codes
        return Lexeme(start, L.NO_COUNTER, False)

    def _add_text(self, language: CharDFA) -> Lexeme:
        rows = lower_text(language, limit=self._limits.byte_states)
        start = self._append(rows)
        codes = self.arena.array(L.S_CODE)
        accepting = language.accepting[1:]
        final = ~(language.trans[1:] > 0).any(axis=1)
        first = start - rows.start + rows.first_character
        codes[first : first + rows.characters] |= np.where(
            accepting, np.where(final, L.FLAG_ACCEPTING | L.FLAG_FINAL, L.FLAG_ACCEPTING), 0
        )
        nullable = bool(language.accepting[1])
        if nullable:
            # A start that does not accept: the same row under another number.
            copy = self._reserve(1)
            codes = self.arena.array(L.S_CODE)
            codes[copy] = codes[start] & ~np.int64(L.FLAGS)
            live = self.arena.array(L.S_LIVE)
            live[4 * copy : 4 * copy + 4] = live[4 * start : 4 * start + 4]
            start = copy
        return Lexeme(start, L.NO_COUNTER, nullable)

    def free_string(self, *, counted: bool) -> int:
        """State before the opening quote of any JSON string; the next one is inside it.

        Without bounds there is nothing to count, and threads in the same state are the same.
        """
        start = self._free_strings.get(counted)
        if start is None:
            rows = lower_string(CharDFA.any_text(), any_escape=True, limit=self._limits.byte_states)
            start = self._free_strings[counted] = self._append(rows)
            self._mark_boundaries(rows, start)
            codes = self.arena.array(L.S_CODE)
            codes[start + 1] |= L.FLAG_UNIVERSAL
            if counted:
                codes[start + 1] += L.KIND_COUNTED - L.KIND_CLASSED
        return start

    def is_inside_free_string(self, state: int) -> bool:
        """Whether a state is that inside a free string, counted or not."""
        return state - 1 in self._free_strings.values()

    def _add_undeclared(self, declared: frozenset[str]) -> Lexeme:
        if not all(map(_PLAIN_KEY.fullmatch, declared)):
            language = CharDFA.any_text().difference(CharDFA.from_strings(declared))
            return self.lexeme(ir.StringLexeme(language))
        if self._free_key is None:
            rows = lower_string(
                CharDFA.any_text(), any_escape=False, limit=self._limits.byte_states
            )
            start = self._append(rows)
            self._mark_boundaries(rows, start)
            if self.closers_are_plain:
                self.arena.array(L.S_CODE)[start + 1] |= L.FLAG_UNIVERSAL
            self._free_key = (rows, start)
        rows, free = self._free_key
        if not declared:
            return Lexeme(free, L.NO_COUNTER, False)
        keys = sorted(key.encode() for key in declared)
        blob = np.array(bytearray(b"".join(keys)), np.uint8)
        offsets = np.zeros(len(keys) + 1, np.int64)
        np.cumsum([len(key) for key in keys], out=offsets[1:])
        # At most: a record of two numbers a node, two more for each node but the first one as
        # its parent's child, and two for each key's end.
        nodes = len(blob) + 1
        pool_start = self._reserve_pool(L.S_OVERRIDES, self._overrides, 4 * nodes + 2 * len(keys))
        start = self._reserve(nodes + 1)
        arena = self.arena
        arena.array(L.S_CODE)[start] = (_QUOTE << L.CODE_ARGUMENT) | L.KIND_BYTE
        nodes = _override_trie(
            blob, offsets, rows.rows, rows.byte_classes, rows.first_character,
            free - rows.start, start + 1, pool_start,
            arena.array(L.S_CODE), arena.array(L.S_LIVE), arena.array(L.S_OVERRIDES),
        )  # fmt: skip
        self._states = start + 1 + nodes
        self._overrides += 4 * nodes + 2 * len(keys)
        return Lexeme(start, L.NO_COUNTER, False)

    # ------------------------------------------------------------------ rows of inside tokens

    def set_row(self, state: int, address: int) -> None:
        """Remember the row of inside tokens of a wide state."""
        self.arena.array(L.S_ROW)[state] = address

    def demote(self, state: int) -> None:
        """Make a state, and the overrides of it, narrow: its tokens are few enough to walk."""
        codes = self.arena.array(L.S_CODE)[: self._states]
        narrow = ~np.int64(L.FLAG_WIDE | L.FLAG_UNIVERSAL)
        codes[state] &= narrow
        if self._free_key is None:
            return
        rows, start = self._free_key
        if not start <= state < start + len(rows.rows):
            return
        # Only undeclared keys are overrides, and only of the free key.
        overrides = np.flatnonzero((codes & L.CODE_KIND) == L.KIND_OVERRIDE)
        bases = self.arena.array(L.S_OVERRIDES)[codes[overrides] >> L.CODE_ARGUMENT]
        codes[overrides[bases == state]] &= narrow

    def run_of(self, state: int) -> tuple[CharSet, int | None] | None:
        """``(characters, r)`` if what may be written from a string state on begins with
        exactly the texts of at most ``r`` (``None``: any number of) those characters.
        """
        index = bisect_right(self._string_starts, state) - 1
        if index < 0:
            return None
        start = self._string_starts[index]
        language = self._strings[start]
        number = state - start
        if not 1 <= number < len(language.trans):
            return None
        runs = self._runs.get(language.key)
        if runs is None:
            runs = self._runs[language.key] = PrefixRuns(language)
        return runs[number]

    def star(self, characters: CharSet) -> int:
        """Start state of JSON strings over a set of characters."""
        return self.lexeme(ir.StringLexeme(CharDFA.from_charset_repeat(characters, 0, None))).start

    # ------------------------------------------------------------------ storage

    def _mark_boundaries(self, rows: ByteRows, start: int) -> None:
        first = start - rows.start + rows.first_character
        codes = self.arena.array(L.S_CODE)
        codes[first : first + rows.characters] |= L.FLAG_WIDE | L.FLAG_BOUNDARY
        self._new_boundaries.append((first, rows.characters))

    def take_boundaries(self) -> list[tuple[int, int]]:
        """``(first state, number)`` of the character boundaries of strings added since."""
        taken, self._new_boundaries = self._new_boundaries, []
        return taken

    def _append(self, rows: ByteRows) -> int:
        """Copy a byte automaton into the store -> its start state."""
        count, classes = rows.rows.shape
        count -= 2
        start = self._reserve(count)
        pool = self._reserve_pool(L.S_TRANSITIONS, self._transitions, count * classes)
        self._transitions += count * classes
        maps = self._reserve_pool(L.S_CLASS_MAPS, self._class_maps, 256)
        self._class_maps += 256
        arena = self.arena
        arena.array(L.S_CLASS_MAPS)[maps : maps + 256] = rows.byte_classes
        members = rows.byte_classes == np.arange(classes, dtype=np.uint8)[:, None]
        _write_rows(
            rows.rows, np.packbits(members, axis=1, bitorder="little").view(np.int64),
            start, pool, maps // 256,
            arena.array(L.S_TRANSITIONS), arena.array(L.S_CODE), arena.array(L.S_LIVE),
        )  # fmt: skip
        return start + rows.start - 2

    def _reserve(self, count: int) -> int:
        start = self._states
        self._states += count
        if self._states > 2**31 - 1:
            raise LimitError(
                stage="lexeme store", limit="byte_states", allowed=2**31 - 1, actual=self._states
            )
        if self._states > len(self.arena.array(L.S_CODE)):
            self._codes = self.arena.extend(L.S_CODE, 2 * self._states).data
            self.arena.extend(L.S_ROW, 2 * self._states)
            self.arena.extend(L.S_LIVE, 8 * self._states)
        return start

    def _reserve_pool(self, slot: int, used: int, count: int) -> int:
        if used + count > len(self.arena.array(slot)):
            self.arena.extend(slot, 2 * (used + count))
        return used
