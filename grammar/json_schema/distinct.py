"""Whether enough different items are left for an array whose items must differ.

Most sets of values are endless, as far as a text goes: strings of any length, numbers, open
objects. Whatever has been used, others are left. Only *small domains* can run out: booleans,
``enum``, short ranges of integers. For the items that an array still must have, a small domain
each, different values can be chosen iff there is a matching of items and values (Hall, 1935;
found with augmenting paths). Items that need not be there never stand in the way.

Values are told apart by their canonical form (:func:`canonical`): ``1`` and ``1.0`` have the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Iterable
from decimal import Decimal
from itertools import product
from math import ceil, floor
from typing import Any, TypeAlias

from ...errors import LimitError, UnsupportedSchemaError
from .algebra import Algebra
from .array_items import State
from .nodes import FALSE, ArrayNode, Normal, ObjectNode, Term
from .numbers import exact
from .questions import Goal, Kind, Steps
from .scalars import NumberPart

__all__ = ["DistinctItems", "Value", "canonical", "value_of"]


Value: TypeAlias = tuple[str, Hashable]
"""Type and what is compared: JSON's ``1`` is not ``true``, but Python's is."""


def canonical(text: str | bytes) -> Value:
    """The canonical form of the value of a JSON text.

    Raises:
        LimitError: it is nested too deeply.
    """
    try:
        return _canonical(json.loads(text, parse_float=Decimal))
    except RecursionError:
        raise LimitError(
            stage="comparing the items of an array that must differ",
            limit="Python's recursion limit",
            allowed=sys.getrecursionlimit(),
            actual=sys.getrecursionlimit() + 1,
        ) from None


def _canonical(value: Any) -> Value:
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, list):
        return "array", tuple(map(_canonical, value))
    if isinstance(value, dict):
        return "object", frozenset((key, _canonical(item)) for key, item in value.items())
    return "number", exact(value)


def value_of(form: Value) -> Any:
    """The JSON value with a canonical form, for a schema's ``const``."""
    kind, value = form
    if kind == "array":
        assert isinstance(value, tuple)
        return [value_of(item) for item in value]
    if kind == "object":
        assert isinstance(value, frozenset)
        return {key: value_of(item) for key, item in value}
    return value


class DistinctItems:
    """Counts the different values that arrays of one algebra can have."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def unusable(self, node: ArrayNode, state: State, seen: frozenset[Value], term: Term) -> Steps:
        """Values that the next item must not have for others to be left.

        Args:
            state: after the next item.
            seen: values that have been used.
            term: what the next item must be in.

        The answer is ``None`` if there is no such item.
        """
        domains = yield from self._required(node, state, len(seen) + 1)
        if not _can_differ([domain - seen for domain in domains]):
            return None
        own = yield from self.domain(term, len(seen) + len(domains))
        if own is not None and own <= seen:
            return None
        return frozenset(
            value
            for value in frozenset().union(*domains) - seen
            if not _can_differ([domain - seen - {value} for domain in domains])
        )

    def is_endless(
        self, node: ArrayNode, state: State, seen: frozenset[Value], term: Term
    ) -> Steps:
        """Whether what the next value is changes nothing for the one after it, in ``term``."""
        if node.counts:
            return False
        domains = yield from self._required(node, state, len(seen) + 2)
        domain = yield from self.domain(term, len(seen) + 2)
        return domain is None and not domains

    def are_enough(self, node: ArrayNode, state: State, seen: frozenset[Value]) -> Steps:
        """Whether the items that must follow can differ from those seen and each other."""
        domains = yield from self._required(node, state, len(seen))
        return _can_differ([domain - seen for domain in domains])

    def _required(self, node: ArrayNode, state: State, used: int) -> Steps:
        """The small domains of the items that must follow."""
        algebra = self._algebra
        wanted: dict[Term, int] = {}
        for i in range(state.place, min(state.place + state.least, len(node.prefix))):
            wanted[node.prefix[i]] = wanted.get(node.prefix[i], 0) + 1
        rest = state.least - sum(wanted.values())
        hits = 0
        for i, least, _ in state.pending:
            hit = algebra.conjoin((node.rest, node.counts[i].term))
            wanted[hit] = wanted.get(hit, 0) + least
            hits += least
        if rest > hits:
            wanted[node.rest] = wanted.get(node.rest, 0) + rest - hits
        total = used + sum(wanted.values())
        found: list[frozenset[Value]] = []
        for term, count in wanted.items():
            domain = yield from self.domain(term, total)
            if domain is not None:
                if node.counts:
                    raise _inexact(node)
                # More places than values cannot be filled however they are chosen.
                found.extend([domain] * min(count, len(domain) + 1))
        return found

    # ------------------------------------------------------------------ domains

    def domain(self, term: Term, most: int) -> Steps:
        """The values of a term, ``None`` if they are more than ``most``."""
        normal = yield Goal(Kind.FORM, term, False)
        if self._is_endless(normal):
            return None
        values: set[Value] = set()
        for is_there, value in ((normal.null, None), (normal.true, True), (normal.false, False)):
            values.update((_canonical(value),) if is_there else ())
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
            arrays = yield from self._arrays(array, most)
            if arrays is None:
                return None
            values |= arrays
        for node in normal.objects:
            objects = yield from self._objects(node, most)
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

    def _arrays(self, node: ArrayNode, most: int) -> Steps:
        if node.max is None:
            return None
        domains: list[list[Value]] = []
        sizes = [1]
        for i in range(node.max):
            if node.item(i) is FALSE:
                break
            domain = yield from self.domain(node.item(i), most)
            if domain is None:
                return None
            domains.append(list(domain))
            sizes.append(sizes[-1] * len(domain))
            if sum(sizes) > most + 1 and node.min <= i:
                break
        if (node.counts or node.unique) and node.max > 1:
            raise _inexact(node)
        if sum(sizes[node.min :]) > most:
            return None
        return {
            ("array", chosen)
            for size in range(node.min, len(domains) + 1)
            for chosen in product(*domains[:size])
        }

    def _objects(self, node: ObjectNode, most: int) -> Steps:
        if not node.is_closed or node.obligations:
            return None
        choices: list[list[tuple[str, Value] | None]] = []
        size = 1
        for name, term in sorted(node.named):
            if term is FALSE:
                continue
            domain = yield from self.domain(term, most)
            if domain is None:
                return None
            some: list[tuple[str, Value] | None] = [(name, value) for value in domain]
            choices.append(some if name in node.required else [None, *some])
            size *= len(choices[-1])
            if size > 8 * most:
                return None
        found: set[Value] = set()
        for chosen in product(*choices):
            members = [pair for pair in chosen if pair is not None]
            if len(members) < node.min or (node.max is not None and len(members) > node.max):
                continue
            found.add(("object", frozenset(members)))
        return found


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


def _inexact(node: ArrayNode) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        "uniqueItems together with contains, or of arrays that are bounded themselves, is not "
        "enforced where only few values are possible; list the values with enum, or drop it "
        "knowingly with relax=('uniqueItems',)",
        keyword="uniqueItems",
        pointer="#",
    )
