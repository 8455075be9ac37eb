"""Whether enough different items are left for an array whose items must differ.

Most sets of values are endless, as far as a text goes: strings of any length, numbers, open
objects. Whatever has been used, others are left. Only *small domains* can run out: booleans,
``enum``, short ranges of integers. For the items that an array still must have, a small domain
each, different values can be chosen iff there is a matching of items and values (Hall, 1935;
found with augmenting paths). Items that need not be there never stand in the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count as numbers_from
from itertools import product
from math import ceil, floor
from typing import Any

from ...errors import LimitError
from .algebra import Algebra
from .array_items import ArrayItems, State
from .nodes import FALSE, ArrayNode, Normal, ObjectNode, Term
from .numbers import exact
from .questions import Goal, Kind, Steps
from .scalars import NumberPart
from .values import Value, canonical

__all__ = ["DistinctItems"]


_MOST_LISTED = 4096
"""Arrays that are looked at to list those of one kind, objects of one kind that are listed."""


_NOWHERE: frozenset[Term] = frozenset()
_ENDLESS: Value = ("endless", "")
"""Stands for one of endlessly many values."""


class DistinctItems:
    """Counts the different values that arrays of one algebra can have."""

    def __init__(self, algebra: Algebra, items: ArrayItems) -> None:
        self._algebra = algebra
        self._items = items

    def unusable(self, node: ArrayNode, state: State, seen: frozenset[Value], term: Term) -> Steps:
        """Values that the next item must not have for others to be left.

        Args:
            state: after the next item.
            seen: values that have been used.
            term: what the next item must be in.

        The answer is ``None`` if there is no such item.
        """
        ways = yield from self._ways(node, state, len(seen) + 1)
        if not _is_possible(ways, seen):
            return None
        own = yield from self.domain(term, len(seen))
        if own is not None and own <= seen:
            return None
        values = frozenset(value for way in ways for domain in way for value in domain) - seen
        return frozenset(value for value in values if not _is_possible(ways, seen | {value}))

    def is_endless(
        self, node: ArrayNode, state: State, seen: frozenset[Value], term: Term
    ) -> Steps:
        """Whether what the next value is changes nothing for the one after it, in ``term``."""
        if node.counts:
            return False
        ways = yield from self._ways(node, state, len(seen) + 2)
        domain = yield from self.domain(term, len(seen) + 2)
        return domain is None and not any(ways)

    def are_enough(self, node: ArrayNode, state: State, seen: frozenset[Value]) -> Steps:
        """Whether the items that must follow can differ from those seen and each other."""
        ways = yield from self._ways(node, state, len(seen))
        return _is_possible(ways, seen)

    def _ways(self, node: ArrayNode, state: State, used: int) -> Steps:
        """The small domains of the items that must follow: for each way to complete the array.

        Small is what ``used`` values and these items could use up.
        """
        if node.counts:
            found: list[list[frozenset[Value]]] = []
            for way in self._completions(node, state):
                domains = yield from self._small(way, used)
                found.append(domains)
            return found
        wanted: dict[Term, int] = {}
        for i in range(state.place, min(state.place + state.least, len(node.prefix))):
            wanted[node.prefix[i]] = wanted.get(node.prefix[i], 0) + 1
        rest = state.least - sum(wanted.values())
        if rest > 0:
            wanted[node.rest] = wanted.get(node.rest, 0) + rest
        domains = yield from self._small(wanted, used)
        return [domains]

    def _small(self, wanted: dict[Term, int], used: int) -> Steps:
        total = used + sum(wanted.values())
        found: list[frozenset[Value]] = []
        for term, count in wanted.items():
            domain = yield from self.domain(term, total)
            if domain is not None:
                # More places than values cannot be filled however they are chosen.
                found.extend([domain] * min(count, len(domain) + 1))
        return found

    def _completions(self, node: ArrayNode, state: State) -> list[dict[Term, int]]:
        """The terms of the items that must follow, for each shortest way to hit the counts."""
        found: dict[tuple[tuple[Term, int], ...], None] = {}
        open_: list[tuple[State, dict[Term, int]]] = [(state, {})]
        while open_:
            state, wanted = open_.pop()
            if state.is_complete:
                key = tuple(sorted(wanted.items(), key=lambda pair: pair[0].uid))
                found[key] = None
                self._algebra.check_count(len(found))
                continue
            is_settled = self._items.is_settled(node, state)
            for term, after in self._items.steps(node, state):
                # Items that bring nothing closer need not be there.
                if not is_settled or after[1:] != state[1:]:
                    open_.append((after, {**wanted, term: wanted.get(term, 0) + 1}))
            self._algebra.check_count(len(open_))
        return [dict(key) for key in found]

    # ------------------------------------------------------------------ domains

    def domain(self, term: Term, most: int, inside: frozenset[Term] = _NOWHERE) -> Steps:
        """The values of a term, ``None`` if they are more than ``most``.

        Args:
            inside: what this term is a part of. A value inside one of its own kind: endlessly many.
        """
        if term in inside:
            return None
        inside |= {term}
        normal = yield Goal(Kind.FORM, term, False)
        if self._is_endless(normal):
            return None
        values: set[Value] = set()
        for is_there, value in ((normal.null, None), (normal.true, True), (normal.false, False)):
            values.update((canonical(value),) if is_there else ())
        for part in normal.numbers:
            numbers = self._numbers(part, most)
            if numbers is None:
                return None
            values |= numbers
        for string in normal.strings:
            if string.values is None and string.is_plain:
                if string.max != 0:
                    return None
                values.add(("string", ""))
                continue
            language = self._algebra.languages.string(string)
            if not language.is_finite:
                return None
            try:
                strings = language.strings(most)
            except LimitError:
                return None
            values.update(("string", text) for text in strings)
        for array in normal.arrays:
            arrays = yield from self._arrays(array, most, inside)
            if arrays is None:
                return None
            values |= arrays
        for node in normal.objects:
            objects = yield from self._objects(node, most, inside)
            if objects is None:
                return None
            values |= objects
        return frozenset(values) if len(values) <= most else None

    def _is_endless(self, normal: Normal) -> bool:
        """A quick look."""
        return any(
            part.values is None and part.is_plain and part.max is None for part in normal.strings
        ) or any(not node.named and not node.layers and not node.shut for node in normal.objects)

    def _numbers(self, part: NumberPart, most: int) -> set[Value] | None:
        if part.values is not None:
            found: Iterable[Any] = part.values
        else:
            within = part.within
            low, high, step = within.minimum, within.maximum, within.step
            if low is None or high is None or (step is None and low != high):
                return None
            step = step or low or exact(1)
            first, last = ceil(low / step), floor(high / step)
            if last - first > most + len(part.excluded) + 2:
                return None
            found = (i * step for i in range(first, last + 1) if part.contains(i * step))
        return {("number", exact(value)) for value in found}

    def _arrays(self, node: ArrayNode, most: int, inside: frozenset[Term]) -> Steps:
        """Those first that lack the fewest items, until there are too many arrays."""
        values: set[Value] = set()
        ties = numbers_from()
        first = self._items.first(node)
        pending: list[tuple[int, int, State, tuple[Value, ...]]] = [(0, next(ties), first, ())]
        # With an item of endlessly many, one way to complete the array is enough.
        endless: set[State] = set()
        looked_at = 0
        while pending:
            _, _, state, chosen = heappop(pending)
            looked_at += 1
            if looked_at > _MOST_LISTED:
                raise LimitError(
                    stage="listing the arrays that an item can be",
                    limit="alternatives",
                    allowed=_MOST_LISTED,
                    actual=looked_at,
                )
            is_endless = _ENDLESS in chosen
            if state.is_complete:
                values.add(("array", chosen))
                if is_endless or len(values) > most:
                    return None
            for term, after in self._items.steps(node, state):
                if is_endless and after in endless:
                    continue
                domain = yield from self.domain(term, most + len(chosen), inside)
                lacking = after.least + sum(least for _, least, _ in after.pending)
                for value in (_ENDLESS,) if domain is None else domain:
                    if value is _ENDLESS or not (node.unique and value in chosen):
                        if is_endless or value is _ENDLESS:
                            endless.add(after)
                        heappush(pending, (lacking, next(ties), after, (*chosen, value)))
        return values

    def _objects(self, node: ObjectNode, most: int, inside: frozenset[Term]) -> Steps:
        if not node.is_closed or node.obligations:
            return None
        choices: list[list[tuple[str, Value] | None]] = []
        size = 1
        for name, term in sorted(node.named):
            if term is FALSE:
                continue
            domain = yield from self.domain(term, most, inside)
            if domain is None:
                return None
            some: list[tuple[str, Value] | None] = [(name, value) for value in domain]
            choices.append(some if name in node.required else [None, *some])
            size *= len(choices[-1])
            if size > _MOST_LISTED:
                return None
        found: set[Value] = set()
        for chosen in product(*choices):
            members = [pair for pair in chosen if pair is not None]
            if len(members) < node.min or (node.max is not None and len(members) > node.max):
                continue
            found.add(("object", frozenset(members)))
        return found


def _is_possible(ways: list[list[frozenset[Value]]], seen: frozenset[Value]) -> bool:
    """Whether in one of the ways the items can have values that were not seen."""
    return any(_can_differ([domain - seen for domain in way]) for way in ways)


def _can_differ(domains: list[frozenset[Value]]) -> bool:
    """Whether a different value can be chosen from each domain."""
    owner: dict[Value, int] = {}
    chosen: dict[int, Value] = {}
    for start in range(len(domains)):
        # Breadth first for an augmenting path: from a domain to its values, from a value that
        # is taken to the domain that has it.
        came_from: dict[Value, int] = {}
        reached = [start]
        free: Value | None = None
        for one in reached:
            for value in domains[one]:
                if value not in came_from:
                    came_from[value] = one
                    if value not in owner:
                        free = value
                        break
                    reached.append(owner[value])
            if free is not None:
                break
        if free is None:
            return False
        while free is not None:
            one = came_from[free]
            before = chosen.get(one)
            owner[free], chosen[one] = one, free
            free = before
    return True
