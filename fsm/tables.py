"""What the engine needs of a vocabulary: tokens, tries and shared rows, for one compiler.

Three tries: all text tokens; those that contain a quote, which are all that can leave a JSON
string; and the *suffix trie*. For a free string it does not matter what a token says before the
quote that closes it, so such tokens are filed by what follows that quote (1,312 tokens of
Llama 3.1 have 576 distinct rests); a walk from the closure of the string's continuation then
decides all of them in a few dozen steps. Each entry knows how many characters stand before
the quote, which is what length bounds need.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from time import perf_counter

import numpy as np
import numpy.typing as npt

from ..grammar.regular import CharSet
from . import layout as L
from .crossing import CrossingTokens
from .inside import InsideWalk, row_of_counts
from .lexemes import LexemeStore
from .memory import Arena, address_of
from .trie import Trie, build_trie
from .vocabulary import Vocabulary

__all__ = ["VocabularyTables"]

_QUOTE = 0x22
_BACKSLASH = 0x5C
_SIMPLE_ESCAPES = frozenset(b'"\\/bfnrt')

NARROW = 1024
"""A string state with fewer inside tokens than this, or than an eighth of a small vocabulary, is
walked instead of keeping a row."""

_ROWS_AHEAD = 16
"""States of a string lexeme, breadth first, whose rows are computed when it is added."""

_MOST_RUN_COUNTS = 32
"""Sets of characters whose lengths of all tokens are kept, 2 bytes a token each."""


class VocabularyTables:
    """The vocabulary block, the scratch block, and rows of inside tokens.

    Not thread-safe: the compiler's lock guards it.
    """

    def __init__(self, vocabulary: Vocabulary, store: LexemeStore) -> None:
        self.vocabulary = vocabulary
        self._store = store
        self.words = (vocabulary.size + 31) // 32
        self.arena = arena = Arena(L.V_SLOTS)
        block = arena.block
        arena.put(L.V_BLOB, vocabulary.blob if len(vocabulary.blob) else np.zeros(1, np.uint8))
        arena.put(L.V_OFFSETS, vocabulary.offsets)
        block[L.V_SIZE] = vocabulary.size
        block[L.V_WORDS] = self.words
        arena.put(L.V_EOS, np.array(vocabulary.eos_ids, np.int32))
        block[L.V_EOS_COUNT] = len(vocabulary.eos_ids)

        ids = vocabulary.sorted_ids
        trie = build_trie(vocabulary.blob, vocabulary.offsets, ids)
        self._put_trie(L.TRIE_ALL, trie)
        quoted = _containing(vocabulary, _QUOTE)
        with_quote = ids[quoted[ids]]
        self._put_trie(L.TRIE_QUOTE, build_trie(vocabulary.blob, vocabulary.offsets, with_quote))
        self._put_suffixes(with_quote)

        longest = trie.max_depth
        block[L.V_MAX_CHARACTERS] = longest
        arena.allocate(L.V_COUNTER_ROWS, longest + 2, np.int64)

        self.scratch = scratch = Arena(L.X_SLOTS)
        for slot in (L.X_WALK_NODE, L.X_WALK_CONFIG, L.X_WALK_CONTINUATION):
            scratch.allocate(slot, len(trie) + 1, np.int32)
        scratch.allocate(L.X_IDS, 5 * vocabulary.size + 64 + len(vocabulary.eos_ids), np.int32)
        self.grow_scratch(1024)
        self._inside = InsideWalk(store.arena, trie, vocabulary.size)
        self._narrow = min(NARROW, vocabulary.size // 8)
        self._rows: list[npt.NDArray[np.uint32]] = []
        self._free_row: npt.NDArray[np.uint32] | None = None
        self._free_counts: npt.NDArray[np.uint16] | None = None
        self._run_counts: dict[CharSet, npt.NDArray[np.uint16]] = {}
        self._run_rows: dict[tuple[CharSet, int | None], npt.NDArray[np.uint32] | None] = {}

    # ------------------------------------------------------------------ rows

    @cached_property
    def crossing_tokens(self) -> CrossingTokens:
        """Tokens that may go on behind a value."""
        return CrossingTokens(self.vocabulary)

    def provide_row(self, state: int) -> None:
        """Compute the row of tokens that stay inside the string from a wide state on."""
        run = self._store.run_of(state)
        if run is not None:
            row = self._row_of_run(*run)
        elif self._store.is_inside_free_string(state):
            if self._free_row is None:
                self._free_row = self._keep(self._counts_of_free_string(), None)
            row = self._free_row
        else:
            row = self._row_of_state(state)
        if row is None:
            self._store.demote(state)
        else:
            self._store.set_row(state, address_of(row))

    def provide_rows_ahead(self, deadline: float) -> None:
        """Compute the rows of the first states of string lexemes that have become known.

        Ends when ``perf_counter()`` is over ``deadline``; other rows come when they are needed.
        """
        codes = self._store.arena.array(L.S_CODE)
        for first, count in self._store.take_boundaries():
            for state in range(first, first + min(count, _ROWS_AHEAD)):
                if perf_counter() > deadline:
                    return
                if codes[state] & L.FLAG_WIDE and codes[state] & L.CODE_KIND == L.KIND_CLASSED:
                    self.provide_row(state)

    def _row_of_state(self, state: int) -> npt.NDArray[np.uint32] | None:
        counts = self._inside.counts_of_many(state, self._narrow)
        return None if counts is None else self._keep(counts, None)

    def _row_of_run(self, characters: CharSet, most: int | None) -> npt.NDArray[np.uint32] | None:
        """The row for up to ``most`` characters of a set, whatever the pattern or the position.

        Which tokens stay inside depends only on how what may still be written can begin, and
        often it is such a run. The lengths of all tokens over the set are kept.
        """
        longest = int(self.arena.block[L.V_MAX_CHARACTERS])
        if most is not None and most >= longest:
            most = None
        key = (characters, most)
        if key not in self._run_rows:
            counts = self._run_counts.get(characters)
            if counts is None:
                counts = self._inside.counts(self._store.star(characters) + 1)
                if len(self._run_counts) >= _MOST_RUN_COUNTS:
                    del self._run_counts[next(iter(self._run_counts))]
                self._run_counts[characters] = counts
            self._run_rows[key] = self._keep(counts, most)
        return self._run_rows[key]

    def _keep(
        self, counts: npt.NDArray[np.uint16], most: int | None
    ) -> npt.NDArray[np.uint32] | None:
        """A row that lives as long as the compiler, or nothing if so few tokens are walked."""
        row, tokens = row_of_counts(counts, most)
        if tokens < self._narrow:
            return None
        self._rows.append(row)
        return row

    def provide_counter_row(self, characters: int) -> None:
        """Compute the row of tokens that add at most so many characters to a free string."""
        row, _ = row_of_counts(self._counts_of_free_string(), characters)
        self._rows.append(row)
        self.arena.array(L.V_COUNTER_ROWS)[characters] = address_of(row)

    def _counts_of_free_string(self) -> npt.NDArray[np.uint16]:
        if self._free_counts is None:
            self._free_counts = self._inside.counts(self._store.free_string(counted=False) + 1)
        return self._free_counts

    # ------------------------------------------------------------------ buffers

    def grow_scratch(self, capacity: int) -> None:
        """Make the closure and step buffers hold ``capacity`` threads."""
        scratch = self.scratch
        for slot in (
            L.X_STEP_KEY, L.X_STEP_COUNTER, L.X_CLOSE_KEY, L.X_CLOSE_COUNTER, L.X_STACK, L.X_JOIN,
            L.X_QUEUE,
        ):  # fmt: skip
            scratch.allocate(slot, capacity, np.int64)
        table = 1 << (2 * capacity - 1).bit_length()
        scratch.allocate(L.X_VISITED, table, np.int64)
        scratch.allocate(L.X_STAMPS, table, np.int64)
        scratch.allocate(L.X_CALLS, table, np.int64)
        scratch.block[L.X_VISITED_MASK] = table - 1
        scratch.block[L.X_CAPACITY] = capacity

    @property
    def nbytes(self) -> int:
        """Bytes of tables, tries and rows."""
        rows = sum(row.nbytes for row in self._rows)
        return self.arena.nbytes + self.scratch.nbytes + self._inside.nbytes + rows

    # ------------------------------------------------------------------ tries

    def _put_trie(self, base: int, trie: Trie) -> npt.NDArray[np.int64]:
        """Renumber a trie breadth first, where children and their tokens are neighbours.

        Returns:
            int64[m]: where in ``trie.tokens`` each token of the new order comes from.
        """
        arena = self.arena
        count = len(trie)
        order = np.argsort(trie.depth, kind="stable")
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        # In preorder the parent is the last node before that is one less deep.
        parents = _parents(trie)
        roots = int(np.count_nonzero(parents < 0))
        ends_here = trie.t1 - trie.t0[:-1]
        # Tokens that end at no node, those without bytes, come first.
        head = len(trie.tokens) - int(ends_here.sum())
        nodes = np.empty((count + 1, 2), np.int32)
        nodes[0] = roots, head
        nodes[1:, 0] = np.cumsum(np.bincount(rank[parents[parents >= 0]], minlength=count)) + roots
        nodes[1:, 1] = np.cumsum(ends_here[order]) + head
        source = np.arange(len(trie.tokens))
        source[head:] += np.repeat(trie.t0[:-1][order] - nodes[:-1, 1], ends_here[order])
        # Kernels take addresses: an empty array has none worth reading.
        arena.put(base + L.T_BYTE, trie.byte[order] if count else np.zeros(1, np.uint8))
        arena.put(base + L.T_NODES, nodes.reshape(-1))
        arena.put(base + L.T_TOKENS, trie.tokens[source] if len(source) else np.zeros(1, np.int32))
        arena.block[base + L.T_ROOTS] = roots
        return source

    def _put_suffixes(self, with_quote: npt.NDArray[np.int32]) -> None:
        entries: list[tuple[bytes, int, int]] = []
        plain = True
        for token in with_quote.tolist():
            data = self.vocabulary.token_bytes(token)
            closing = _closing_quote(data)
            if closing is not None:
                entries.append((data[closing[0] + 1 :], token, closing[1]))
                plain = plain and b"\\u00" not in data[: closing[0]].lower()
        self._store.closers_are_plain = plain
        entries.sort()
        rests = [rest for rest, _, _ in entries]
        empty = sum(1 for rest in rests if not rest)
        offsets = np.zeros(len(rests) + 1, np.int64)
        np.cumsum([len(rest) for rest in rests], out=offsets[1:])
        blob = np.frombuffer(b"".join(rests) or b"\0", np.uint8).copy()
        trie = build_trie(blob, offsets, np.arange(empty, len(rests), dtype=np.int32))
        tokens = np.array([token for _, token, _ in entries], np.int32)
        source = self._put_trie(
            L.TRIE_SUFFIX,
            replace(
                trie, t0=trie.t0 + np.int32(empty), t1=trie.t1 + np.int32(empty), tokens=tokens
            ),
        )
        lengths = np.array([count for _, _, count in entries], np.int32)[source]
        self.arena.put(L.V_SUFFIX_LENGTHS, lengths if len(lengths) else np.zeros(1, np.int32))


def _parents(trie: Trie) -> npt.NDArray[np.int64]:
    """int64[n]: the parent of each node, -1 at depth 1."""
    parents = np.full(len(trie), -1, np.int64)
    above = np.flatnonzero(trie.depth == 1)
    for depth in range(2, trie.max_depth + 1):
        level = np.flatnonzero(trie.depth == depth)
        parents[level] = above[np.searchsorted(above, level) - 1]
        above = level
    return parents


def _containing(vocabulary: Vocabulary, byte: int) -> npt.NDArray[np.bool_]:
    """bool[size]: which tokens contain a byte."""
    where = np.flatnonzero(vocabulary.blob == byte)
    owners = np.searchsorted(vocabulary.offsets, where, side="right") - 1
    result = np.zeros(vocabulary.size, np.bool_)
    result[owners] = True
    return result


def _closing_quote(data: bytes) -> tuple[int, int] | None:
    """Where a token closes a free string that it starts inside of, at a character boundary.

    Returns:
        Index of the closing quote and the number of characters before it, or ``None`` if the
        token does not close the string (its quotes are escaped) or is not string content.
    """
    index = count = 0
    while index < len(data):
        byte = data[index]
        if byte == _QUOTE:
            break
        if byte == _BACKSLASH:
            step = _escape_length(data, index)
        elif byte < 0x20:
            return None
        else:
            step = _utf8_length(data, index)
        if step == 0:
            return None
        index += step
        count += 1
    else:
        return None
    return index, count


def _escape_length(data: bytes, index: int) -> int:
    """Length of the escape sequence at ``index``, 0 if it is not a whole valid one."""
    if index + 1 >= len(data):
        return 0
    if data[index + 1] in _SIMPLE_ESCAPES:
        return 2
    unit = _code_unit(data, index)
    if unit is None or 0xDC00 <= unit <= 0xDFFF:
        return 0
    if not 0xD800 <= unit <= 0xDBFF:
        return 6
    low = _code_unit(data, index + 6)
    return 12 if low is not None and 0xDC00 <= low <= 0xDFFF else 0


def _code_unit(data: bytes, index: int) -> int | None:
    digits = data[index + 2 : index + 6]
    if data[index : index + 2] != b"\\u" or len(digits) < 4:
        return None
    if not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        return None
    return int(digits, 16)


def _utf8_length(data: bytes, index: int) -> int:
    """Length of the UTF-8 sequence at ``index``, 0 if it is not a whole valid one."""
    for length in range(1, 5):
        try:
            data[index : index + length].decode()
        except UnicodeDecodeError:
            continue
        return length if index + length <= len(data) else 0
    return 0
