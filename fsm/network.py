"""The network: rules of a grammar as positions and edges, expanded when first reached.

Positions and edges are the states and transitions of a recursive transition network (Woods,
1970). An edge reads a lexeme, calls a rule or is epsilon. A rule is added whole, all of its
positions at once, so that a position's edges are neighbours; rules it calls are only given a
number. Bounded repetition is a chain of internal rules, one a repetition, so that
``maxItems: 10000`` costs what is used of it.

Nullable lexemes become an epsilon edge and a lexeme whose start does not accept: closures then
hold only lexeme starts that never accept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from time import perf_counter
from typing import Final, TypeAlias

from ..grammar import ir
from . import layout as L
from .lexemes import Lexeme, LexemeStore
from .memory import Arena

__all__ = ["Network", "Repetition"]

_EPSILON: Final = L.EDGE_EPSILON
_LEXEME: Final = L.EDGE_LEXEME
_CALL: Final = L.EDGE_CALL

_INNER: Final = frozenset((ir.Sequence, ir.Choice, ir.Ref, ir.Chain, ir.Repeat, ir.Captured))

_Edge: TypeAlias = tuple[int, int, int, int]
"""Kind, lexeme start or rule, target position, counter."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Key of an internal rule: this many more items, at least one."""

    node: ir.Repeat
    min: int
    max: int | None


class Network:
    """Positions, edges and rules of one grammar. Not thread-safe.

    Attributes:
        captures: what the counters of barriers stand for.
    """

    def __init__(self, grammar: ir.Grammar, store: LexemeStore, arena: Arena) -> None:
        self._grammar = grammar
        self._store = store
        # Writing an element of an array takes twice as long.
        self._block = arena.block.data
        self._edge_start = array("i")
        self._edge_count = array("i")
        self._final = array("B")
        self._edge_kind = array("B")
        self._edge_argument = array("i")
        self._edge_target = array("i")
        self._edge_counter = array("q")
        self._rule_start = array("i")
        self.captures: list[ir.Captured] = []
        self._rules: dict[ir.Key | Repetition, int] = {}
        self._keys: list[ir.Key | Repetition] = []
        # The rules being built: edges by position, relative to the first one, and which rule
        # starts where.
        self._edges: list[list[_Edge]] = []
        self._starts: list[tuple[int, int]] = []
        # Their lexemes by the identity of leaves, and of choices of leaves: most repeat. The bodies
        # are kept alive that long.
        self._leaves: dict[int, Lexeme] = {}
        self._choices: dict[int, list[Lexeme]] = {}
        self._bodies: list[ir.Expr] = []
        self._publish()

    def rule(self, key: ir.Key | Repetition) -> int:
        """Number of a rule, expanded or not."""
        number = self._rules.get(key)
        if number is None:
            number = self._rules[key] = len(self._keys)
            self._keys.append(key)
            self._rule_start.append(-1)
        return number

    def key(self, rule: int) -> object:
        """The key of a rule, for messages."""
        return self._keys[rule]

    def is_final(self, position: int) -> bool:
        """Whether the position's rule may end there."""
        return bool(self._final[position] & L.POSITION_FINAL)

    def edges(self, position: int) -> Iterator[tuple[int, int, int, int]]:
        """``(EDGE_*, lexeme start or rule, target, counter)`` of each edge from a position."""
        first = self._edge_start[position]
        for edge in range(first, first + self._edge_count[position]):
            yield (
                self._edge_kind[edge],
                self._edge_argument[edge],
                self._edge_target[edge],
                self._edge_counter[edge],
            )

    def expand(self, rule: int) -> int:
        """Add the positions of a rule -> its start. Raises what the grammar raises."""
        self._begin()
        self._build(rule)
        self._append()
        return self._rule_start[rule]

    def expand_ahead(self, most: int, deadline: float) -> None:
        """Expand the first rules in the order in which they are called, all in one go.

        Ends after ``most`` rules, or when ``perf_counter()`` is over ``deadline``.
        """
        self._begin()
        keys, rule_start = self._keys, self._rule_start
        rule = 0
        while rule < len(keys) and rule < most and perf_counter() < deadline:
            if rule_start[rule] < 0:
                self._build(rule)
            rule += 1
        if self._starts:
            self._append()

    def start_of(self, key: ir.Key) -> int:
        """Start position of a rule, which is expanded if it is not yet."""
        rule = self.rule(key)
        start = self._rule_start[rule]
        return start if start >= 0 else self.expand(rule)

    # ------------------------------------------------------------------ building

    def _begin(self) -> None:
        self._edges = []
        self._starts = []
        self._leaves = {}
        self._choices = {}
        self._bodies = []

    def _build(self, rule: int) -> None:
        key = self._keys[rule]
        edges = self._edges
        start = len(edges)
        edges.append([])
        edges.append([])
        self._starts.append((rule, start))
        if type(key) is Repetition:
            self._repetition(key, start, start + 1)
        else:
            body = self._grammar.rule(key)
            self._bodies.append(body)
            self._add(body, start, start + 1)

    def _new(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def _epsilon(self, source: int, target: int) -> None:
        self._edges[source].append((_EPSILON, 0, target, 0))

    def _call(self, key: ir.Key | Repetition, source: int, target: int) -> None:
        self._edges[source].append((_CALL, self.rule(key), target, 0))

    def _add(self, expr: ir.Expr, source: int, target: int) -> None:
        """Edges so that the texts of ``expr`` lead from ``source`` to ``target``.

        Never adds an edge into ``source`` or out of ``target``.
        """
        if type(expr) is ir.Sequence:
            self._sequence(expr.items, source, target)
        elif type(expr) is ir.Ref:
            self._edges[source].append((_CALL, self.rule(expr.key), target, 0))
        elif type(expr) is ir.Choice:
            self._choice(expr, source, target)
        elif type(expr) is ir.Chain:
            self._chain(expr, source, target)
        elif type(expr) is ir.Repeat:
            self._repeat(expr, source, target)
        elif type(expr) is ir.Captured:
            self._edges[source].append((_LEXEME, L.STATE_BARRIER, target, len(self.captures)))
            self.captures.append(expr)
        else:
            start, counter, nullable = self._leaf(expr)
            if nullable:
                self._edges[source].append((_EPSILON, 0, target, 0))
            if start:
                self._edges[source].append((_LEXEME, start, target, counter))

    def _leaf(self, expr: ir.Expr) -> Lexeme:
        number = id(expr)
        found = self._store.known.get(number) or self._leaves.get(number)
        if found is None:
            found = self._leaves[number] = self._store.lexeme(expr)
        return found

    def _choice(self, node: ir.Choice, source: int, target: int) -> None:
        leaves = self._choices.get(id(node))
        if leaves is None:
            if not _INNER.isdisjoint(map(type, node.options)):
                for option in node.options:
                    self._add(option, source, target)
                return
            leaves = self._choices[id(node)] = list(map(self._leaf, node.options))
        leaving = self._edges[source]
        for start, counter, nullable in leaves:
            if nullable:
                leaving.append((_EPSILON, 0, target, 0))
            if start:
                leaving.append((_LEXEME, start, target, counter))

    def _sequence(self, items: tuple[ir.Expr, ...], source: int, target: int) -> None:
        edges, known = self._edges, self._store.known
        if not items:
            edges[source].append((_EPSILON, 0, target, 0))
            return
        left = len(items)
        leaving = edges[source]
        for item in items:
            left -= 1
            if left:
                after = len(edges)
                edges.append([])
            else:
                after = target
            leaf = known.get(id(item))
            if leaf is not None:
                # Nearly all items, and the same as in ``_add``.
                start, counter, nullable = leaf
                if nullable:
                    leaving.append((_EPSILON, 0, after, 0))
                if start:
                    leaving.append((_LEXEME, start, after, counter))
            else:
                self._add(item, source, after)
            source = after
            leaving = edges[source]

    def _repeat(self, node: ir.Repeat, source: int, target: int) -> None:
        if node.max == 0:
            self._epsilon(source, target)
            return
        if node.min == 0:
            self._epsilon(source, target)
        if node.max == 1:
            self._add(node.item, source, target)
        elif node.max is None and node.min <= 1:
            self._loop(node, source, target)
        else:
            self._call(Repetition(node, max(node.min, 1), node.max), source, target)

    def _loop(self, node: ir.Repeat, source: int, target: int) -> None:
        """One or more items."""
        after = self._new()
        self._add(node.item, source, after)
        self._epsilon(after, target)
        before = self._new()
        self._add(node.separator, after, before)
        again = self._new()
        self._add(node.item, before, again)
        self._epsilon(again, after)

    def _repetition(self, key: Repetition, source: int, target: int) -> None:
        node = key.node
        if key.max is None and key.min <= 1:
            self._loop(node, source, target)
            return
        after = self._new()
        self._add(node.item, source, after)
        if key.min <= 1:
            self._epsilon(after, target)
        if key.max is None or key.max > 1:
            before = self._new()
            self._add(node.separator, after, before)
            rest = Repetition(node, max(key.min - 1, 1), None if key.max is None else key.max - 1)
            self._call(rest, before, target)

    def _chain(self, node: ir.Chain, source: int, target: int) -> None:
        # ``choose``: one of the items from i on (or ``rest``) comes now. ``present``: item i - 1
        # was the last one; a separator leads on. One separator serves all items after it.
        items, rest = node.items, node.rest
        if not items and rest is None:
            self._epsilon(source, target)
            return
        last_required = max((i for i, item in enumerate(items) if item.required), default=-1)
        if last_required < 0:
            self._epsilon(source, target)
        choose = self._new()
        self._epsilon(source, choose)
        for i, item in enumerate(items):
            more = i + 1 < len(items) or rest is not None
            present = self._new()
            self._add(item.expr, choose, present)
            if i >= last_required:
                self._epsilon(present, target)
            if not more:
                break
            following = self._new()
            self._add(node.separator, present, following)
            if not item.required:
                self._epsilon(choose, following)
            choose = following
        if rest is not None:
            present = self._new()
            self._add(rest, choose, present)
            self._epsilon(present, target)
            self._add(node.separator, present, choose)

    def _append(self) -> None:
        """Number the positions that were built, and let the engine see them."""
        edges = self._edges
        base = len(self._edge_start)
        counts = list(map(len, edges))
        self._edge_start.fromlist(list(accumulate(counts[:-1], initial=len(self._edge_kind))))
        self._edge_count.fromlist(counts)
        final = bytearray(len(edges))
        for rule, start in self._starts:
            self._rule_start[rule] = base + start
            # The position after the start is the rule's end, and nothing leads out of it.
            final[start + 1] = L.POSITION_FINAL | L.POSITION_TAIL
        self._final.frombytes(final)
        if any(counts):
            kinds, arguments, targets, counters = zip(*chain.from_iterable(edges), strict=True)
            self._edge_kind.frombytes(bytes(kinds))
            self._edge_argument.fromlist(list(arguments))
            self._edge_target.fromlist([base + target for target in targets])
            self._edge_counter.fromlist(list(counters))
        self._begin()
        self._publish()

    def _publish(self) -> None:
        """Write the addresses; growing an array may have moved it."""
        block = self._block
        for slot, values in (
            (L.C_EDGE_START, self._edge_start),
            (L.C_EDGE_COUNT, self._edge_count),
            (L.C_FINAL, self._final),
            (L.C_EDGE_KIND, self._edge_kind),
            (L.C_EDGE_ARGUMENT, self._edge_argument),
            (L.C_EDGE_TARGET, self._edge_target),
            (L.C_EDGE_COUNTER, self._edge_counter),
            (L.C_RULE_START, self._rule_start),
        ):
            block[slot] = values.buffer_info()[0]
