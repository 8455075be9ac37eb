"""The fewest bytes that complete a text, exactly: how a budget of tokens is kept.

Searching nodes would cross a node for every byte. The threads of a node already say what is to
be parsed, so the cost of a thread is a sum of independent parts::

    bytes to the end of its lexeme + bytes from its return position to the end of that rule
                                   + the same for the caller, and so on up the continuation

*Lexemes*: breadth-first over byte states. A counted string adds one byte for each character
that it still needs: whatever state it is in, it closes at a character boundary, and any number
of one-byte characters fits in there.

*Rules* are costed on the IR, not on the network, which would be expanded by it: ``n`` repetitions
cost ``n`` items and ``n - 1`` separators, and optional members nothing. Grammars may be huge or
infinite, so rules are fetched on demand: a rule not fetched counts 0, which is a lower bound, and
as long as the best derivation of a rule uses such rules, they are fetched and the costs solved
again. What a fetched rule costs is the least solution over finite derivations, relaxed from
infinity (Knuth, 1977, for costs that only add up).

Everything but the sum over threads is cached for the lifetime of the FSM.

Where a text goes on as its values say, what follows counts as after values that differ from all
others: never more than it takes, and less where that leaves longer values only.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf
from typing import Final, TypeAlias

import numpy as np

from ..grammar import ir
from . import layout as L
from .lexemes import LexemeStore
from .memory import Arena
from .network import Network, Repetition

__all__ = ["ShortestCompletion"]

_Keys: TypeAlias = tuple[ir.Key, ...]
_Cost: TypeAlias = tuple[float, _Keys]
"""Bytes, and the rules that the derivation with so many bytes calls."""

_IMPOSSIBLE: Final[_Cost] = (inf, ())
_FREE: Final[_Cost] = (0, ())


class ShortestCompletion:
    """Distances from nodes to acceptance. Not thread-safe: the compiler's lock guards it."""

    def __init__(
        self, grammar: ir.Grammar, network: Network, store: LexemeStore, arena: Arena
    ) -> None:
        self._network = network
        self._arena = arena
        self._lexemes = _LexemeDistances(store)
        self._rules = _RuleCosts(grammar, self._lexemes)
        self._positions: dict[int, float] = {}
        self._continuations: dict[int, float] = {L.CONTINUATION_END: 0}
        self._nodes: dict[int, int] = {}

    def of(self, node: int) -> int:
        """The smallest number of bytes that lead from a node to an accepting one.

        Raises:
            ValueError: the node is dead.
        """
        known = self._nodes.get(node)
        if known is not None:
            return known
        arena = self._arena
        start = int(arena.array(L.C_CONFIG_START)[node])
        stop = start + int(arena.array(L.C_CONFIG_SIZE)[node])
        keys = arena.array(L.C_THREAD_KEY)[start:stop].tolist()
        counters = arena.array(L.C_THREAD_COUNTER)[start:stop].tolist()
        best = inf
        for key, counter in zip(keys, counters, strict=True):
            if key == 0:
                best = 0
                break
            # The lexeme first: it often decides, and continuations can be deep.
            if key >> 32 == L.STATE_BARRIER:
                continue  # what follows is there as well
            cost = self._lexemes.distance(key >> 32, counter)
            if cost < best:
                best = min(best, cost + self._continuation(key & 0xFFFFFFFF))
        if best == inf:
            raise ValueError("a dead node cannot be completed")
        self._nodes[node] = int(best)
        return int(best)

    def _continuation(self, continuation: int) -> float:
        known = self._continuations
        positions = self._arena.array(L.C_CONT_POSITION)
        parents = self._arena.array(L.C_CONT_PARENT)
        wanted = continuation
        path = [wanted]
        while path:
            continuation = path[-1]
            position, parent = int(positions[continuation]), int(parents[continuation])
            needed = [parent] if position >= 0 else [parent, -1 - position]
            missing = [other for other in needed if other not in known]
            if continuation in known:
                path.pop()
            elif missing:
                path += missing
            elif position >= 0:
                known[continuation] = known[parent] + self._position(position)
            else:  # a join: whichever is nearer
                known[continuation] = min(known[other] for other in needed)
        return known[wanted]

    def _position(self, position: int) -> float:
        """Bytes from a position to the end of its rule (Dijkstra)."""
        known = self._positions.get(position)
        if known is not None:
            return known
        network = self._network
        distances: dict[int, float] = {position: 0}
        queue: list[tuple[float, int]] = [(0, position)]
        while queue:
            distance, here = heappop(queue)
            if distance > distances[here]:
                continue
            if network.is_final(here):
                self._positions[position] = distance
                return distance
            for kind, argument, target, counter in network.edges(here):
                if kind == L.EDGE_EPSILON:
                    cost = distance
                elif kind == L.EDGE_LEXEME and argument == L.STATE_BARRIER:
                    cost = distance + self._rules.cost_behind(network.captures[counter])
                elif kind == L.EDGE_LEXEME:
                    cost = distance + self._lexemes.distance(argument, counter)
                else:
                    cost = distance + self._rules.cost(network.key(argument))
                if cost < distances.get(target, inf):
                    distances[target] = cost
                    heappush(queue, (cost, target))
        self._positions[position] = inf
        return inf


class _LexemeDistances:
    """Bytes to the end of lexemes, from any of their states."""

    def __init__(self, store: LexemeStore) -> None:
        self._store = store
        self._states: dict[int, int] = {}
        self._classes: dict[int, int] = {}

    def lexeme(self, expr: ir.Expr) -> int:
        """Bytes of the shortest text of an IR leaf."""
        if isinstance(expr, ir.Literal):
            return len(expr.data)  # not worth a place in the store
        lexeme = self._store.lexeme(expr)
        return 0 if lexeme.nullable else self.distance(lexeme.start, lexeme.counter)

    def distance(self, state: int, counter: int) -> int:
        """Bytes from a state to the end of its lexeme; 0 if it may end here."""
        known = self._states.get(state)
        if known is None:
            known = self._states[state] = self._search(state)
        return known + (counter >> 32)

    def _search(self, state: int) -> int:
        codes = self._store.arena.array(L.S_CODE)
        seen = {state}
        level = [state]
        distance = 0
        best = inf
        while level and distance < best:
            following: list[int] = []
            for here in level:
                if codes[here] & L.FLAG_ACCEPTING:
                    return distance
                known = self._states.get(here)
                if known is not None:
                    best = min(best, distance + known)
                    continue
                for target in self._targets(here, int(codes[here])):
                    if target not in seen:
                        seen.add(target)
                        following.append(target)
            level = following
            distance += 1
        # All states of a lexeme can reach its end.
        return int(best)

    def _targets(self, state: int, code: int) -> Iterable[int]:
        kind = code & L.CODE_KIND
        argument = code >> L.CODE_ARGUMENT
        if kind == L.KIND_BYTE:
            return (state + 1,)
        if kind == L.KIND_LAST_BYTE:
            return (L.STATE_END,)
        if kind == L.KIND_NONE:
            return ()
        arena = self._store.arena
        if kind != L.KIND_OVERRIDE:
            return self._row(code)
        pairs = arena.array(L.S_OVERRIDES)
        stop = argument + 2 + 2 * int(pairs[argument + 1])
        changed = dict(
            zip(
                pairs[argument + 2 : stop : 2].tolist(),
                pairs[argument + 3 : stop : 2].tolist(),
                strict=True,
            )
        )
        base = int(arena.array(L.S_CODE)[pairs[argument]])
        first = 256 * ((base >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK)
        classes = arena.array(L.S_CLASS_MAPS)[first : first + 256]
        row = arena.array(L.S_TRANSITIONS)[base >> L.CODE_ARGUMENT :][classes]
        # Bytes of one class may differ here, so go by bytes.
        targets = {changed.get(byte, target) for byte, target in enumerate(row.tolist())}
        targets.discard(L.STATE_DEAD)
        return sorted(targets)

    def _row(self, code: int) -> list[int]:
        arena = self._store.arena
        number = (code >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK
        width = self._classes.get(number)
        if width is None:
            maps = arena.array(L.S_CLASS_MAPS)[256 * number : 256 * number + 256]
            width = self._classes[number] = int(maps.max()) + 1
        first = code >> L.CODE_ARGUMENT
        row = np.unique(arena.array(L.S_TRANSITIONS)[first : first + width])
        return [target for target in row.tolist() if target != L.STATE_DEAD]


class _RuleCosts:
    """Bytes of the shortest text of rules."""

    def __init__(self, grammar: ir.Grammar, lexemes: _LexemeDistances) -> None:
        self._grammar = grammar
        self._lexemes = lexemes
        self._bodies: dict[ir.Key, ir.Expr] = {}
        self._final: dict[ir.Key, float] = {}

    def cost(self, key: object) -> float:
        """Bytes of the shortest text of a rule of the network."""
        if isinstance(key, Repetition):
            return self._exact(ir.Repeat(key.node.item, key.min, key.max, key.node.separator))
        return self._exact(ir.Ref(key))

    def cost_behind(self, captured: ir.Captured) -> float:
        """Bytes behind a value that differs from all others."""
        return self._exact(ir.Ref(self._grammar.after_value(captured.key, None)))

    def _exact(self, expr: ir.Expr) -> float:
        """Fetch rules until the best derivation of an expression uses none that is not fetched."""
        costs: dict[ir.Key, _Cost] = {}
        while True:
            total, calls = self._evaluate(expr, costs)
            if self._derivation(calls, costs):
                self._solve(costs)
                continue
            # Rules on a best derivation have no cheaper one either.
            for key in self._used(calls, costs):
                self._final[key] = costs[key][0]
            return total

    def _used(self, calls: _Keys, costs: dict[ir.Key, _Cost]) -> dict[ir.Key, None]:
        used: dict[ir.Key, None] = {}
        stack = list(calls)
        while stack:
            key = stack.pop()
            if key not in used and key not in self._final:
                used[key] = None
                stack.extend(costs[key][1] if key in costs else ())
        return used

    def _derivation(self, calls: _Keys, costs: dict[ir.Key, _Cost]) -> bool:
        """Fetch the rules of a derivation that are still missing -> whether there were any."""
        missing = [key for key in self._used(calls, costs) if key not in costs]
        for key in missing:
            if key not in self._bodies:
                self._bodies[key] = self._grammar.rule(key)
            costs[key] = _IMPOSSIBLE
        return bool(missing)

    def _solve(self, costs: dict[ir.Key, _Cost]) -> None:
        """Costs of the rules fetched, from infinity downwards."""
        order = list(reversed(costs))  # callees are mostly fetched after their callers
        costs.update(dict.fromkeys(order, _IMPOSSIBLE))
        changed = True
        while changed:
            changed = False
            for key in order:
                cost = self._evaluate(self._bodies[key], costs)
                if cost[0] < costs[key][0]:
                    costs[key] = cost
                    changed = True

    def _evaluate(self, expr: ir.Expr, costs: dict[ir.Key, _Cost]) -> _Cost:
        if isinstance(expr, ir.Ref):
            known = self._final.get(expr.key)
            if known is not None:
                return known, ()
            # A rule that was not fetched might cost nothing.
            return costs.get(expr.key, _FREE)[0], (expr.key,)
        if isinstance(expr, ir.Sequence):
            return self._sum(expr.items, costs)
        if isinstance(expr, ir.Choice):
            best = _IMPOSSIBLE
            for option in expr.options:
                cost = self._evaluate(option, costs)
                if cost[0] < best[0]:
                    best = cost
            return best
        if isinstance(expr, ir.Repeat):
            if expr.min == 0:
                return _FREE
            item, calls = self._evaluate(expr.item, costs)
            if expr.min == 1:
                return item, calls
            between, more = self._evaluate(expr.separator, costs)
            return expr.min * item + (expr.min - 1) * between, calls + more
        if isinstance(expr, ir.Chain):
            required = [item.expr for item in expr.items if item.required]
            total, calls = self._sum(required, costs)
            if len(required) < 2:
                return total, calls
            between, more = self._evaluate(expr.separator, costs)
            return total + (len(required) - 1) * between, calls + more
        if isinstance(expr, ir.Captured):
            return self._evaluate(ir.Ref(self._grammar.after_value(expr.key, None)), costs)
        return self._lexemes.lexeme(expr), ()

    def _sum(self, items: Iterable[ir.Expr], costs: dict[ir.Key, _Cost]) -> _Cost:
        total: float = 0
        calls: _Keys = ()
        for item in items:
            cost, more = self._evaluate(item, costs)
            total += cost
            calls += more
        return total, calls
