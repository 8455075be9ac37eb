"""Languages of characters as values: canonical DFAs and the algebra of regular languages.

A :class:`CharDFA` is always minimal, trimmed and numbered in one way only, so equal languages
have byte-equal arrays: comparing and hashing languages compares a digest, and everything built
from a language can be cached under it. The price is that every operation ends with a
minimization; it is one kernel call, near-linear in the table.

Rejected: keeping tables raw until compared (products of products then grow), and NFAs or
derivatives as the value (no canonical form, so no sharing across grammars).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate

import numpy as np

from ...errors import GrammarError, LimitError
from ...limits import DEFAULT_LIMITS, Limits
from ..regular import (
    ANY_CHAR,
    EMPTY,
    MAX_CODE_POINT,
    NEVER,
    CharSet,
    Complement,
    Concat,
    Regular,
    Repeat,
)
from .acyclic import minimal_acyclic
from .language import ANY_TABLE, combine, embedded_language, language_of, probe
from .minimal import canonical
from .product import BOTH, EITHER, FIRST_ONLY
from .table import MAX_TABLE_ENTRIES, BoolArray, IntArray, Table

__all__ = ["CharDFA"]

COUNTED_ENTRIES = 500
"""Entries that the table of a language cut to a length may have per allowed state.

A URI of up to 2,083 characters, as pydantic asks for, has 8 million.
"""

# Two different nodes that stand for automata in a tree.
_FIRST, _SECOND = Complement(NEVER), Complement(EMPTY)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CharDFA:
    """A regular language of texts (sequences of Unicode scalar values).

    Attributes:
        cuts: int32[k], ascending, ``cuts[0] == 0``; interval ``i`` is
            ``[cuts[i], cuts[i + 1])``, the last one ends at 10FFFF. Neighbours differ in class.
        interval_class: int32[k], interval -> symbol class; classes are numbered by their
            first interval.
        trans: int32[n_states, n_classes], next state; state 0 is dead, state 1 is the start,
            from every other state acceptance can be reached (but not from 1 if the language is
            empty). Surrogates always lead to 0.
        accepting: bool[n_states].
        key: digest of the language; equal iff the languages are.

    The arrays are shared between values: never write to them.
    """

    cuts: IntArray
    interval_class: IntArray
    trans: IntArray
    accepting: BoolArray
    key: bytes

    # ------------------------------------------------------------------ constructors

    @staticmethod
    def from_regular(
        node: Regular, *, limits: Limits = DEFAULT_LIMITS, culprit: str = ""
    ) -> CharDFA:
        """The texts that match a regular expression as a whole.

        Args:
            culprit: what to name in errors: the pattern, rule or JSON Pointer.

        Raises:
            LimitError: ``nfa_states`` or ``dfa_states`` was exceeded.
        """
        return _from_table(language_of(node, limits=limits, culprit=culprit))

    @staticmethod
    def from_table(table: Table) -> CharDFA:
        """The value of a canonical table, see :mod:`.table`."""
        return _from_table(table)

    @staticmethod
    def from_strings(strings: Iterable[str]) -> CharDFA:
        """Exactly these texts. Linear in their total length.

        Raises:
            GrammarError: a string has a lone surrogate, so it is no text.
            LimitError: the transition table would have more than 2**25 entries.
        """
        unique = sorted(set(strings))
        joined = "".join(unique)
        alphabet = sorted(set(joined))
        if any("\ud800" <= character <= "\udfff" for character in alphabet):
            bad = next(s for s in unique if any("\ud800" <= c <= "\udfff" for c in s))
            raise GrammarError(
                f"the string {bad!r} has a lone surrogate, which no text can spell; "
                "replace it with the character that was meant"
            )
        # Character number i has class i + 1, everything between them has class 0.
        class_of = {character: i for i, character in enumerate(alphabet, 1)}
        intervals = {0: 0}
        for character, number in class_of.items():
            intervals[ord(character)] = number
            intervals[ord(character) + 1] = 0  # unless the next character says otherwise
        intervals.pop(MAX_CODE_POINT + 1, None)
        cuts = np.array(list(intervals), np.int32)
        interval_class = np.array(list(intervals.values()), np.int32)
        symbols = np.array([class_of[character] for character in joined], np.int32)
        starts = np.array([0, *accumulate(map(len, unique))], np.int64)
        width = len(alphabet) + 1
        trans, accepting = minimal_acyclic(symbols, starts, width, MAX_TABLE_ENTRIES)
        if not len(trans):
            raise LimitError(
                stage="automaton of a list of strings",
                limit="dfa_states",
                allowed=MAX_TABLE_ENTRIES // width,
                actual=MAX_TABLE_ENTRIES // width + 1,
                culprit=f"{len(unique)} strings",
            )
        raw = Table(cuts, interval_class, trans, accepting)
        return _from_table(canonical(raw, is_minimal=True))

    @staticmethod
    def any_text() -> CharDFA:
        """Every text."""
        return _from_table(ANY_TABLE)

    @staticmethod
    def never() -> CharDFA:
        """No text at all."""
        return CharDFA.from_strings(())

    @staticmethod
    def from_charset_repeat(
        members: CharSet,
        min: int,
        max: int | None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        culprit: str = "",
    ) -> CharDFA:
        """Texts of ``min`` to ``max`` characters (``None``: any number) of one set.

        Raises:
            LimitError: the longest count is above ``Limits.nfa_states``.
        """
        if max is not None and max < min:
            return CharDFA.never()
        count = min if max is None else max
        if count > limits.nfa_states:
            raise LimitError(
                stage="counted repeat of one character",
                limit="nfa_states",
                allowed=limits.nfa_states,
                actual=count,
                culprit=culprit,
            )
        if not members or (count == 0 and max is not None):
            return CharDFA.from_strings(("",)) if min == 0 else CharDFA.never()
        edges = [edge for first, last in members.ranges for edge in (first, last + 1)]
        first_in = edges[0] == 0
        if not first_in:
            edges.insert(0, 0)
        if edges[-1] > MAX_CODE_POINT:
            edges.pop()
        cuts = np.array(edges, np.int32)
        # Intervals inside and outside take turns; the class of code point 0 is number 0.
        interval_class = (np.arange(len(edges)) % 2).astype(np.int32)
        n_states = count + 2
        trans = np.zeros((n_states, 2), np.int32)
        inside = trans[:, 0 if first_in else 1]
        inside[1:-1] = np.arange(2, n_states)
        if max is None:
            inside[-1] = n_states - 1
        accepting = np.zeros(n_states, np.bool_)
        accepting[min + 1 :] = True
        return _from_table(Table(cuts, interval_class, trans, accepting))

    # ------------------------------------------------------------------ questions

    @property
    def is_empty(self) -> bool:
        """No text matches."""
        return len(self.accepting) == 2 and not self.accepting[1]

    @property
    def is_universal(self) -> bool:
        """Every text matches."""
        return self.key == CharDFA.any_text().key

    def accepts(self, text: str) -> bool:
        """Whether the whole text matches; never if it has a lone surrogate."""
        data = text.encode("utf-32-le", "surrogatepass")
        code_points = np.frombuffer(data, np.uint32)
        intervals = np.searchsorted(self.cuts, code_points, side="right") - 1
        state = 1
        for c in self.interval_class[intervals].tolist():
            state = int(self.trans[state, c])
            if state == 0:
                return False
        return bool(self.accepting[state])

    def is_subset(self, other: CharDFA) -> bool:
        """Every text of this language is in the other one."""
        return self.key == other.key or not probe(_table(self), _table(other), FIRST_ONLY)

    def is_disjoint(self, other: CharDFA) -> bool:
        """No text is in both languages."""
        return not probe(_table(self), _table(other), BOTH)

    @property
    def is_finite(self) -> bool:
        """There are only finitely many texts."""
        return self.max_length is not None

    @property
    def min_length(self) -> int:
        """Length of the shortest text, in characters.

        Raises:
            ValueError: the language is empty.
        """
        shortest = self.shortest()
        if shortest is None:
            raise ValueError("the empty language has no shortest text")
        return len(shortest)

    @property
    def max_length(self) -> int | None:
        """Length of the longest text in characters, ``None`` if there is none (-1 if empty)."""
        if self.is_empty:
            return -1
        # Peel off states without live predecessors; if a cycle is left, there is no longest.
        successors = _successors(self.trans)
        waiting = [0] * len(successors)
        for targets in successors:
            for t in targets:
                waiting[t] += 1
        if waiting[1]:
            return None
        longest = [0] * len(successors)
        ready = [1]
        seen = 0
        result = 0
        while ready:
            s = ready.pop()
            seen += 1
            if longest[s] > result:
                result = longest[s]
            for t in successors[s]:
                if longest[t] <= longest[s]:
                    longest[t] = longest[s] + 1
                waiting[t] -= 1
                if not waiting[t]:
                    ready.append(t)
        # The longest path ends in an accepting state, since every state is live.
        return result if seen == len(successors) - 1 else None

    def shortest(self) -> str | None:
        """A shortest text, readable if possible; ``None`` if the language is empty."""
        if self.is_empty:
            return None
        accepting = self.accepting.tolist()
        # State numbers are breadth first, so the first path found to a state is a shortest.
        came_from = {1: (0, 0)}
        queue = [1]
        for s in queue:
            if accepting[s]:
                break
            for c, t in enumerate(self.trans[s].tolist()):
                if t and t not in came_from:
                    came_from[t] = (s, c)
                    queue.append(t)
        letters: list[str] = []
        while s != 1:
            s, c = came_from[s]
            letters.append(self._example(c))
        return "".join(reversed(letters))

    def strings(self, limit: int) -> list[str]:
        """All texts of a finite language, by code points.

        Raises:
            LimitError: there are more than ``limit``, or infinitely many.
        """
        error = LimitError(
            stage="listing the texts of a language",
            limit="limit",
            allowed=limit,
            actual=limit + 1,
        )
        if self.is_empty:
            return []
        if not self.is_finite:
            raise error
        found: list[str] = []
        ends = [*self.cuts[1:].tolist(), MAX_CODE_POINT + 1]
        intervals = list(zip(self.cuts.tolist(), ends, self.interval_class.tolist(), strict=True))
        trans = self.trans.tolist()
        todo = [("", 1)]
        while todo:
            prefix, s = todo.pop()
            if self.accepting[s]:
                found.append(prefix)
            children: list[tuple[str, int]] = []
            for start, end, c in intervals:
                if trans[s][c]:
                    # Every child leads to a text of its own.
                    if len(found) + len(todo) + len(children) + end - start > limit:
                        raise error
                    children.extend((prefix + chr(x), trans[s][c]) for x in range(start, end))
            todo.extend(reversed(children))
        if len(found) > limit:
            raise error
        return found

    # ------------------------------------------------------------------ algebra

    def intersect(self, other: CharDFA, *, limits: Limits = DEFAULT_LIMITS) -> CharDFA:
        """Texts in both. Raises ``LimitError`` (``dfa_states``)."""
        return self if self.key == other.key else self._combine(other, BOTH, limits)

    def union(self, other: CharDFA, *, limits: Limits = DEFAULT_LIMITS) -> CharDFA:
        """Texts in either. Raises ``LimitError`` (``dfa_states``)."""
        return self if self.key == other.key else self._combine(other, EITHER, limits)

    def difference(self, other: CharDFA, *, limits: Limits = DEFAULT_LIMITS) -> CharDFA:
        """Texts of this language that are not in the other. Raises ``LimitError``."""
        return self._combine(other, FIRST_ONLY, limits)

    def complement(self) -> CharDFA:
        """All other texts."""
        # One state more at most: never stopped by a limit that let this value be made.
        limits = Limits(dfa_states=len(self.accepting) + 1)
        return CharDFA.any_text()._combine(self, FIRST_ONLY, limits)

    def concat(
        self, other: CharDFA, *, limits: Limits = DEFAULT_LIMITS, culprit: str = ""
    ) -> CharDFA:
        """A text of this language and then one of the other. Raises ``LimitError``."""
        tables: dict[Regular, Table] = {_FIRST: _table(self), _SECOND: _table(other)}
        node = Concat((_FIRST, _SECOND))
        return _from_table(embedded_language(node, tables, limits=limits, culprit=culprit))

    def star(self, *, limits: Limits = DEFAULT_LIMITS, culprit: str = "") -> CharDFA:
        """Any number of texts of this language, one after the other. Raises ``LimitError``."""
        tables: dict[Regular, Table] = {_FIRST: _table(self)}
        node = Repeat(_FIRST, 0, None)
        return _from_table(embedded_language(node, tables, limits=limits, culprit=culprit))

    def bounded(
        self,
        min: int,
        max: int | None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        culprit: str = "",
    ) -> CharDFA:
        """Texts of at least ``min`` and at most ``max`` characters (``None``: no upper bound).

        Raises:
            LimitError: the bounds cut an unbounded language at more than
                ``Limits.nfa_states`` characters, or the product has a table of more than
                ``COUNTED_ENTRIES`` entries for each of ``Limits.dfa_states``.
        """
        if self.is_empty:
            return self
        longest = self.max_length
        if longest is not None and (max is None or max >= longest):
            max = None
            if min > longest:
                return CharDFA.never()
        if min <= self.min_length:
            min = 0
        if min == 0 and max is None:
            return self
        counter = CharDFA.from_charset_repeat(
            ANY_CHAR.set, min, max, limits=limits, culprit=culprit
        )
        # No way back, so the product is about as large as it looks, and is minimized in a pass.
        states = COUNTED_ENTRIES * limits.dfa_states // self.trans.shape[1]
        if states > limits.dfa_states:
            limits = replace(limits, dfa_states=states)
        return self._combine(counter, BOTH, limits, culprit)

    def residuals(self) -> list[tuple[CharDFA, CharDFA]]:
        """For each state: the texts that lead there, and the texts accepted from there.

        What leads to no acceptance is left out.
        """
        table = _table(self)
        found: list[tuple[CharDFA, CharDFA]] = []
        for state in range(1, len(self.trans)):
            here = np.zeros(len(self.trans), np.bool_)
            here[state] = True
            before = _from_table(canonical(table._replace(accepting=here)))
            # The start is state 1: exchange the two.
            order = np.arange(len(self.trans))
            order[[1, state]] = state, 1
            trans = order.astype(np.int32)[self.trans[order]]
            after = canonical(Table(self.cuts, self.interval_class, trans, self.accepting[order]))
            found.append((before, _from_table(after)))
        return found

    # ------------------------------------------------------------------ value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharDFA) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        n_states, n_classes = self.trans.shape
        example = self.shortest()
        what = "no text" if example is None else f"e.g. {example[:40]!r}"
        return f"<CharDFA {n_states} states, {n_classes} classes, {what}>"

    def _combine(self, other: CharDFA, wanted: int, limits: Limits, culprit: str = "") -> CharDFA:
        return _from_table(
            combine(_table(self), _table(other), wanted, limits=limits, culprit=culprit)
        )

    def _example(self, symbol_class: int) -> str:
        """A character of a class: the first visible ASCII one, else the first."""
        ends = np.append(self.cuts[1:], MAX_CODE_POINT + 1)
        mine = np.flatnonzero(self.interval_class == symbol_class)
        for i in mine.tolist():
            code_point = max(int(self.cuts[i]), 0x21)
            if code_point < min(int(ends[i]), 0x7F):
                return chr(code_point)
        return chr(int(self.cuts[mine[0]]))


def _table(dfa: CharDFA) -> Table:
    return Table(dfa.cuts, dfa.interval_class, dfa.trans, dfa.accepting)


def _from_table(table: Table) -> CharDFA:
    """The value of a canonical table."""
    # The number of intervals and classes tells where each array ends in the digested bytes.
    shape = np.array([len(table.cuts), table.trans.shape[1]], np.int32)
    digest = blake2b(digest_size=16)
    for array in (shape, *table):
        digest.update(array.data)
    return CharDFA(*table, digest.digest())


def _successors(trans: IntArray) -> list[set[int]]:
    """The live successors of each state."""
    rows = [set(row) for row in trans.tolist()]
    for row in rows:
        row.discard(0)
    return rows
