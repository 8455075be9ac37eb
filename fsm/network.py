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
from itertools import accumulate
from time import perf_counter

from ..grammar import ir
from . import layout as L
from .lexemes import LexemeStore
from .memory import Arena

__all__ = ["Network", "Repetition"]

_INNER = frozenset((ir.Sequence, ir.Choice, ir.Ref, ir.Chain, ir.Repeat))


@dataclass(frozen=True, slots=True)
class Repetition:
    """Key of an internal rule: this many more items, at least one."""

    node: ir.Repeat
    min: int
    max: int | None


class Network:
    """Positions, edges and rules of one grammar. Not thread-safe."""

    def __init__(self, grammar: ir.Grammar, store: LexemeStore, arena: Arena) -> None:
        self._grammar = grammar
        self._store = store
        self._arena = arena
        self._edge_start = array("i")
        self._edge_count = array("i")
        self._final = array("B")
        self._edge_kind = array("B")
        self._edge_argument = array("i")
        self._edge_target = array("i")
        self._edge_counter = array("q")
        self._rule_start = array("i")
        self._rules: dict[ir.Key | Repetition, int] = {}
        self._keys: list[ir.Key | Repetition] = []
        # The rule being built: edges by position, relative to the first one.
        self._edges: list[list[tuple[int, int, int, int]]] = []
        # ``(start, counter)`` of leaves and choices of leaves that are never empty, by identity:
        # punctuation repeats, and the body is alive.
        self._lexemes: dict[int, list[tuple[int, int]]] = {}
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
        start = self._build(rule)
        self._publish()
        return start

    def _build(self, rule: int) -> int:
        """What :meth:`expand` does, to be published later."""
        key = self._keys[rule]
        base = len(self._edge_start)
        self._edges = [[], []]
        self._lexemes.clear()
        if isinstance(key, Repetition):
            self._repetition(key, 0, 1)
        else:
            body = self._grammar.rule(key)
            self._add(body, 0, 1)
        self._append(base)
        self._rule_start[rule] = base
        return base

    def expand_ahead(self, most: int, deadline: float) -> None:
        """Expand the first rules in the order in which they are called.

        Ends after ``most`` rules, or when ``perf_counter()`` is over ``deadline``.
        """
        rule = 0
        try:
            while rule < min(len(self._keys), most) and perf_counter() < deadline:
                if self._rule_start[rule] < 0:
                    self._build(rule)
                rule += 1
        finally:
            self._publish()

    def start_of(self, key: ir.Key) -> int:
        """Start position of a rule, which is expanded if it is not yet."""
        rule = self.rule(key)
        start = self._rule_start[rule]
        return start if start >= 0 else self.expand(rule)

    # ------------------------------------------------------------------ building

    def _new(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def _epsilon(self, source: int, target: int) -> None:
        self._edges[source].append((L.EDGE_EPSILON, 0, target, 0))

    def _call(self, key: ir.Key | Repetition, source: int, target: int) -> None:
        self._edges[source].append((L.EDGE_CALL, self.rule(key), target, 0))

    def _add(self, expr: ir.Expr, source: int, target: int) -> None:
        """Edges so that the texts of ``expr`` lead from ``source`` to ``target``.

        Never adds an edge into ``source`` or out of ``target``.
        """
        if type(expr) is ir.Sequence:
            items = expr.items
            if not items:
                self._epsilon(source, target)
                return
            edges = self._edges
            known = self._lexemes
            for item in items[:-1]:
                middle = len(edges)
                edges.append([])
                # Most items are punctuation that was met before in this rule.
                lexemes = known.get(id(item))
                if lexemes is None:
                    self._add(item, source, middle)
                else:
                    leaving = edges[source]
                    for start, counter in lexemes:
                        leaving.append((L.EDGE_LEXEME, start, middle, counter))
                source = middle
            self._add(items[-1], source, target)
        elif type(expr) is ir.Ref:
            self._call(expr.key, source, target)
        elif type(expr) is ir.Chain:
            self._chain(expr, source, target)
        elif type(expr) is ir.Repeat:
            self._repeat(expr, source, target)
        else:
            lexemes = self._lexemes.get(id(expr))
            if lexemes is None:
                options = expr.options if type(expr) is ir.Choice else (expr,)
                if any(type(option) in _INNER for option in options):
                    for option in options:
                        self._add(option, source, target)
                    return
                lexemes = self._lexemes_of(options)
                if all(start != L.STATE_DEAD for start, _ in lexemes):
                    self._lexemes[id(expr)] = lexemes
            leaving = self._edges[source]
            for start, counter in lexemes:
                if start == L.STATE_DEAD:
                    self._epsilon(source, target)
                else:
                    leaving.append((L.EDGE_LEXEME, start, target, counter))

    def _lexemes_of(self, leaves: tuple[ir.Expr, ...]) -> list[tuple[int, int]]:
        """``(start, counter)`` of each leaf; an empty text is the start ``STATE_DEAD``."""
        result: list[tuple[int, int]] = []
        for leaf in leaves:
            lexeme = self._store.lexeme(leaf)
            if lexeme.nullable:
                result.append((L.STATE_DEAD, 0))
            if lexeme.start != L.STATE_DEAD:
                result.append((lexeme.start, lexeme.counter))
        return result

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

    def _append(self, base: int) -> None:
        edges = self._edges
        counts = [len(leaving) for leaving in edges]
        first = len(self._edge_kind)
        self._edge_start.extend(accumulate(counts[:-1], initial=first))
        self._edge_count.extend(counts)
        # Position 1 is the rule's end, and nothing leads out of it.
        self._final.frombytes(bytes((0, L.POSITION_FINAL | L.POSITION_TAIL)))
        self._final.frombytes(bytes(len(edges) - 2))
        flat = [edge for leaving in edges for edge in leaving]
        if flat:
            kinds, arguments, targets, counters = zip(*flat, strict=True)
            self._edge_kind.frombytes(bytes(kinds))
            self._edge_argument.extend(arguments)
            self._edge_target.extend([base + target for target in targets])
            self._edge_counter.extend(counters)
        self._edges = []

    def _publish(self) -> None:
        """Write the addresses; growing an array may have moved it."""
        block = self._arena.block
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
