"""Where the one match of a backtracking matcher ends, and what must not come after it.

``re.match`` tries alternatives in order, greedy repeats from many to few and lazy ones from few
to many, and stops at its first success. Whether that success is the text ``w`` depends on what
comes after ``w``: ``[0-9]+`` matches ``12`` at the start of ``12,`` but not at that of ``123``. So
a pattern is a list of pairs :class:`FirstMatch`: in ``w v`` the match is ``w`` iff, for one of the
pairs, ``w`` is in its ``language`` and ``v`` in its ``rest``. The rest also holds what lookaheads
at the end ask for.

Construction. A matcher goes on to a later choice only if all earlier ones fail. So in the NFA of
the pattern (Thompson's, in the order of trying) the later branch of each choice has a negative
*lookahead* at "some match by the earlier branch". Then each text has one path at most that ends
in a match, and it is the matcher's. With the threads and duties of :mod:`.lookaround` this is
exact for patterns with lookarounds as well: the duties of the threads at the end are the rest.

What a pattern sees before its first character would depend on the tokens before; such
patterns are refused, see :class:`LooksOutsideError`.

An iteration that reads nothing ends its repeat, as in ``re``: the items of repeats have a way out
of their own for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...errors import LimitError
from ...limits import DEFAULT_LIMITS, Limits
from ..regular import (
    ANY_CHAR,
    Assert,
    Chars,
    CharSet,
    Concat,
    Look,
    Regular,
    Repeat,
    Union,
)
from .dfa import CharDFA
from .language import language_of
from .lookaround import Construction, Duties, Program, Threads, look_programs
from .minimal import canonical
from .table import Table
from .thompson import CHAR, FAIL, FINAL, LOOK, SPLIT, Assembler, single_character

__all__ = ["FirstMatch", "LooksOutsideError", "first_matches"]

_Formula = frozenset[Duties]

MOMENTS = 1_000
"""Different pasts that a pattern is tried after, to see whether they make a difference."""


class LooksOutsideError(ValueError):
    """What the pattern matches depends on what stands before it."""


@dataclass(frozen=True, slots=True)
class FirstMatch:
    """Some of the matches of a pattern, with what may follow each of them.

    Attributes:
        language: texts of matches.
        rest: what the text may go on with for them to be the match; ``None`` for anything.
    """

    language: CharDFA
    rest: CharDFA | None


def first_matches(
    tree: Regular, *, limits: Limits = DEFAULT_LIMITS, culprit: str = ""
) -> tuple[FirstMatch, ...]:
    """The matches of a pattern at a place in the middle of a text.

    Args:
        tree: an ordered tree, see :func:`maskwright.grammar.regex.parse_regex`.
        culprit: what to name in errors.

    Raises:
        LooksOutsideError: the pattern looks at what stands before its match.
        LimitError: ``nfa_states``, ``dfa_states``.
    """
    assembler = Assembler(
        limits=limits,
        culprit=culprit,
        embed=lambda node: language_of(node, limits=limits, culprit=culprit),
    )
    ordered = _Ordered(assembler)
    entry = ordered.build(tree, FINAL)
    looks = look_programs(assembler)
    main = Program.of_nodes(ordered.guarded(len(looks)), entry)
    open_nodes, entries = ordered.plain()
    looks += [Program.of_nodes(open_nodes, guard) for guard in entries]
    construction = Construction.of(looks, assembler)
    construction.resolve(main)
    outcomes = {_explored(construction, main, *moment) for moment in _moments(construction, main)}
    if len(outcomes) > 1:
        raise LooksOutsideError(culprit)
    (outcome,) = outcomes
    return outcome


def _moments(construction: Construction, main: Program) -> list[tuple[int, tuple[Threads, ...]]]:
    """What can be before a match: the symbol, and the states of the lookbehinds."""
    edge = construction.edge
    start = construction.advance(main.reads, None, edge)
    moments = [(edge, start)]
    if not main.reads and not main.looks_back:
        return moments
    seen = set(moments)
    for _, states in moments:
        for symbol in range(edge):
            if symbol == construction.surrogates:
                continue
            moment = (symbol, construction.advance(main.reads, states, symbol))
            if moment not in seen:
                if len(seen) >= MOMENTS:
                    raise LimitError(
                        stage="lookbehinds at the start of a pattern",
                        limit="dfa_states",
                        allowed=MOMENTS,
                        actual=MOMENTS + 1,
                        culprit=construction.assembler.culprit,
                    )
                seen.add(moment)
                moments.append(moment)
    return moments


def _explored(
    construction: Construction, main: Program, before: int, states: tuple[Threads, ...]
) -> tuple[FirstMatch, ...]:
    order, rows = construction.explore(main, before, states)
    trans = np.array(rows, np.int32)
    by_rest: dict[CharDFA | None, list[int]] = {}
    rests: dict[_Formula, CharDFA | None] = {}
    for state, threads in enumerate(order, 1):
        formula = frozenset(duties for node, duties in threads if node == FINAL)
        if not formula:
            continue
        if formula not in rests:
            rests[formula] = _rest(construction, formula)
        by_rest.setdefault(rests[formula], []).append(state)
    found: list[FirstMatch] = []
    for rest, ends in by_rest.items():
        accepting = np.zeros(len(rows), np.bool_)
        accepting[ends] = True
        language = _language(construction, trans, accepting)
        if not (language.is_empty or (rest is not None and rest.is_empty)):
            found.append(FirstMatch(language, rest))
    return tuple(sorted(found, key=lambda match: (match.language.key, match.rest is None)))


def _rest(construction: Construction, formula: _Formula) -> CharDFA | None:
    """The texts that meet all duties of one of the sets; ``None`` if all do."""
    if frozenset() in formula:
        return None
    numbers: dict[_Formula, int] = {formula: 1}
    order = [formula]
    rows = [[0] * construction.edge]
    accepting = [False]
    for current in order:
        accepting.append(any(all(construction.done[d] for d in duties) for duties in current))
        row = [0] * construction.edge
        for symbol in range(construction.edge):
            if symbol == construction.surrogates:
                continue
            left = {construction.step_duties(duties, symbol) for duties in current} - {None}
            after = _simplified({duties for duties in left if duties is not None})
            if not after:
                continue
            if after not in numbers:
                numbers[after] = len(numbers) + 1
                order.append(after)
                if len(order) > construction.assembler.limits.dfa_states:
                    raise LimitError(
                        stage="what may follow a match",
                        limit="dfa_states",
                        allowed=construction.assembler.limits.dfa_states,
                        actual=len(order),
                        culprit=construction.assembler.culprit,
                    )
            row[symbol] = numbers[after]
        rows.append(row)
    return _language(construction, np.array(rows, np.int32), np.array(accepting, np.bool_))


def _simplified(formula: set[Duties]) -> _Formula:
    """Without sets of duties that include another one."""
    return frozenset(d for d in formula if not any(other < d for other in formula))


def _language(construction: Construction, trans: np.ndarray, accepting: np.ndarray) -> CharDFA:
    raw = Table(construction.cuts, construction.interval_class, trans, accepting)
    return CharDFA.from_table(canonical(raw))


@dataclass(slots=True)
class _Ordered:
    """The NFA of an ordered tree, as :mod:`.thompson` describes it, with guards.

    A guard is a ``LOOK`` node whose look is not known yet: its argument is an index of
    ``_guards``, the entries that must lead to no match.
    """

    assembler: Assembler
    nodes: list[list[int]] = field(default_factory=lambda: [[FINAL, 0, 0, 0], [FAIL, 0, 0, 0]])
    _guards: dict[int, int] = field(default_factory=dict)
    _guard_nodes: list[int] = field(default_factory=list)

    def build(self, tree: Regular, follow: int, empty: int | None = None) -> int:
        """The entry of a tree before ``follow``. Nesting is bounded by the pattern parser.

        Args:
            empty: where to go on instead if the tree has read nothing.
        """
        if empty is None:
            empty = follow
        if isinstance(tree, Chars):
            sets = self.assembler.sets
            return self._add(CHAR, sets.setdefault(tree.set.ranges, len(sets)), follow)
        if isinstance(tree, Concat):
            for item in reversed(tree.items):
                following = self.build(item, follow)
                empty = following if empty == follow else self.build(item, follow, empty)
                follow = following
            return empty
        if isinstance(tree, Union):
            return self._choice([self.build(option, follow, empty) for option in _merged(tree)])
        if isinstance(tree, Repeat):
            return self._repeat(tree, follow, empty)
        if isinstance(tree, Assert):
            cases = []
            for case in self.assembler.assertion(tree):
                entry = empty
                for op, condition, _ in case:
                    entry = self._add(op, condition, entry)
                cases.append(entry)
            # The cases exclude each other, so their order does not matter.
            entry = cases[0]
            for case_entry in cases[1:]:
                entry = self._add(SPLIT, 0, entry, case_entry)
            return entry
        if isinstance(tree, Look):
            single = single_character(tree.item, behind=tree.behind)
            if single is not None:
                op, condition, _ = self.assembler.condition(
                    *single, behind=tree.behind, negative=tree.negative
                )
                return self._add(op, condition, empty)
            looks = self.assembler.looks
            looks.append((tree.item, tree.behind))
            return self._add(LOOK, 2 * (len(looks) - 1) + tree.negative, empty)
        raise TypeError(f"patterns have no {type(tree).__name__}")

    def _add(self, op: int, argument: int, follow: int, other: int = FAIL) -> int:
        self.nodes.append([op, argument, follow, other])
        allowed = self.assembler.limits.nfa_states
        if len(self.nodes) > allowed:
            raise LimitError(
                stage="regex NFA construction",
                limit="nfa_states",
                allowed=allowed,
                actual=len(self.nodes),
                culprit=self.assembler.culprit,
            )
        return len(self.nodes) - 1

    def _choice(self, entries: list[int]) -> int:
        """Entries in the order of trying; none of them fails always."""
        if not entries:
            return FAIL
        choice = entries[-1]
        for entry in reversed(entries[:-1]):
            choice = self._add(SPLIT, 0, entry, self._after(entry, choice))
        return choice

    def _after(self, first: int, second: int) -> int:
        """``second``, where ``first`` leads to no match."""
        if FAIL in (first, second) or self._exclude_each_other(first, second):
            return second
        guard = self._guards.setdefault(first, len(self._guards))
        self._guard_nodes.append(self._add(LOOK, guard, second))
        return self._guard_nodes[-1]

    def _exclude_each_other(self, first: int, second: int) -> bool:
        a, b = self.nodes[first], self.nodes[second]
        if a[0] != CHAR or b[0] != CHAR:
            return False
        ranges = list(self.assembler.sets)
        return not CharSet(ranges[a[1]]).intersect(CharSet(ranges[b[1]])).ranges

    def _repeat(self, tree: Repeat, follow: int, empty: int) -> int:
        """Copies that must be, then those that may be.

        Args:
            follow, empty: as in :meth:`build`, for the whole repeat.
        """
        item, low, high = tree.item, tree.min, tree.max
        if high is None:
            entry = self._loop(item, follow, lazy=tree.lazy)
            # Where nothing was read yet, what follows may differ; an iteration comes back above.
            start = entry
            if empty != follow:
                body = self.build(item, entry, empty)
                start = self._choice([empty, body] if tree.lazy else [body, empty])
        else:
            entry, start = follow, empty
            for _ in range(high - low):
                pairs = [(follow, self.build(item, entry, follow))]
                if start != entry:
                    pairs.append((empty, self.build(item, entry, empty)))
                choices = [
                    self._choice([out, body] if tree.lazy else [body, out]) for out, body in pairs
                ]
                entry, start = choices[0], choices[-1]
        for _ in range(low):
            following = self.build(item, entry)
            start = following if start == entry else self.build(item, entry, start)
            entry = following
        return start

    def _loop(self, item: Regular, follow: int, *, lazy: bool) -> int:
        loop = self._add(SPLIT, 0, FAIL)
        body = self.build(item, loop, follow)
        first, second = (follow, body) if lazy else (body, follow)
        self.nodes[loop][2] = first
        self.nodes[loop][3] = self._after(first, second)
        return loop

    def guarded(self, number: int) -> list[list[int]]:
        """The nodes, where the guards are looks from ``number`` on."""
        nodes = [list(node) for node in self.nodes]
        for guard in self._guard_nodes:
            nodes[guard][1] = 2 * (number + nodes[guard][1]) + 1
        return nodes

    def plain(self) -> tuple[list[list[int]], list[int]]:
        """Nodes without guards where anything may follow a match, and the guards' entries."""
        sets = self.assembler.sets
        any_character = sets.setdefault(ANY_CHAR.set.ranges, len(sets))
        end = len(self.nodes)
        nodes = [list(node) for node in self.nodes]
        for guard in self._guard_nodes:
            nodes[guard] = [SPLIT, 0, nodes[guard][2], FAIL]
        for node in nodes[2:]:
            if node[2] == FINAL:
                node[2] = end
            if node[0] == SPLIT and node[3] == FINAL:
                node[3] = end
        nodes += [[SPLIT, 0, end + 1, FINAL], [CHAR, any_character, end, FAIL]]
        return nodes, [end if entry == FINAL else entry for entry in self._guards]


def _merged(tree: Union) -> list[Regular]:
    """The options, with neighbours that are single characters as one."""
    options: list[Regular] = []
    for option in tree.options:
        last = options[-1] if options else None
        if isinstance(option, Chars) and isinstance(last, Chars):
            options[-1] = Chars(last.set.union(option.set))
        else:
            options.append(option)
    return options
