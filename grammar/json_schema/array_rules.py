"""Arrays as rules.

Most arrays are one repetition. Those with a prefix or counts have rules for what is left of them,
computed as a parse gets there: ``("items", number, state)`` is the rest of the array node with
that number in :class:`.array_items.State`.

Where items must differ, what is left also depends on the values read so far. A parser cannot
know them: it reads an item as any text of a rule. So each item ends in :class:`.ir.Captured`, and
whoever follows a text says which value it was; the rule ``("unique", number, state, seen)`` then
excludes it from the items that follow. Values that would leave none for later items are
excluded as well (:mod:`.distinct`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..ir import Captured, Expr, Key, Ref, Repeat, Sequence
from .array_items import State
from .nodes import ArrayNode
from .normalize import Normalizer
from .object_rules import choice
from .values import Value, canonical_of_text
from .whitespace import Punctuation

if TYPE_CHECKING:
    from .rules import Rules

__all__ = ["ArrayRules"]

_NOTHING = Sequence(())


class ArrayRules:
    """The rules of the arrays of one grammar."""

    def __init__(self, rules: Rules, normalizer: Normalizer, signs: Punctuation) -> None:
        self._rules = rules
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._items = normalizer.inhabitants.items
        self._distinct = normalizer.inhabitants.distinct
        self._exclusion = normalizer.exclusion
        self._signs = signs
        # Nodes with tails by number: the number stands in the key, a node is costly to hash.
        self._nodes: list[ArrayNode] = []
        self._numbers: dict[ArrayNode, int] = {}
        self._known: dict[tuple[int, State], bool] = {}

    def any_array(self) -> Expr:
        """All arrays."""
        return self._in_array(Repeat(self._followed(Ref("value")), 0, None, self._signs.comma))

    def expressions(self, node: ArrayNode) -> Iterable[Expr]:
        """The arrays of a node, if there are any."""
        if not node.prefix and not node.counts and not node.unique:
            if node.max == 0 or not self._normalizer.inhabited(node.rest):
                if node.min == 0:
                    yield self._in_array(_NOTHING)
                return
            item = self._followed(self._rules.reference(node.rest))
            yield self._in_array(Repeat(item, node.min, node.max, self._signs.comma))
            return
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        state = self._items.first(node)
        if not self._can_end(number, state):
            return
        if not node.unique:
            yield self._in_array(self.tail(number, state))
        elif self._normalizer.ask(self._distinct.are_enough(node, state, frozenset())):
            yield self._in_array(self.unique_tail(number, state, frozenset()))

    def tail(self, number: int, state: State) -> Expr:
        """Items from ``state`` on, a comma before each but the first one of the array."""
        node = self._nodes[number]
        comma, inhabited = self._signs.comma, self._normalizer.inhabited
        steps = list(self._items.steps(node, state))
        if self._items.is_settled(node, state) and all(p[1:] == (0, 0) for p in state.pending):
            most = None if node.max is None else node.max - state.place
            if not steps or not inhabited(steps[0][0]):
                return _NOTHING
            item = self._followed(self._rules.reference(steps[0][0]))
            if state.place == 0:
                return Repeat(item, state.least, most, comma)
            return Repeat(Sequence((comma, item)), state.least, most)
        options: list[Expr] = [_NOTHING] if state.is_complete else []
        for term, after in steps:
            if inhabited(term) and self._can_end(number, after):
                item = self._followed(self._rules.reference(term))
                tail: Expr = Ref(("items", number, after))
                parts = (item, tail) if state.place == 0 else (comma, item, tail)
                options.append(Sequence(parts))
        return choice(options)

    def unique_tail(self, number: int, state: State, seen: frozenset[Value]) -> Expr:
        """Items from ``state`` on that differ from those seen and from each other."""
        node = self._nodes[number]
        normalizer = self._normalizer
        options: list[Expr] = [_NOTHING] if state.is_complete else []
        for term, after in self._items.steps(node, state):
            if not self._can_end(number, after):
                continue
            unusable = normalizer.ask(self._distinct.unusable(node, after, seen, term))
            if unusable is None:
                continue
            item = self._algebra.conjoin((term, self._exclusion.term(seen | unusable)))
            if normalizer.inhabited(item):
                value = self._rules.reference(item)
                following = (node, after, seen, node.item(after.place))
                is_endless = normalizer.ask(self._distinct.is_endless(*following))
                captured = Captured(("unique", number, after, seen), is_endless)
                first = state.place == 0
                parts = (value, captured) if first else (self._signs.comma, value, captured)
                options.append(Sequence(parts))
        tail = choice(options)
        blank = self._signs.after_value
        return tail if state.place == 0 or blank is None else Sequence((blank, tail))

    def after_value(self, key: Key, text: bytes | None) -> Key:
        """The rule after an item of an array whose items must differ."""
        assert isinstance(key, tuple)
        kind, number, state, seen = key
        return key if text is None else (kind, number, state, seen | {canonical_of_text(text)})

    def _can_end(self, number: int, state: State) -> bool:
        key = number, state
        found = self._known.get(key)
        if found is None:
            steps = self._items.can_end(self._nodes[number], state, False)
            found = self._known[key] = self._normalizer.ask(steps)
        return found

    def _in_array(self, items: Expr) -> Expr:
        return Sequence((self._signs.open_array, items, self._signs.close_array))

    def _followed(self, value: Expr) -> Expr:
        after = self._signs.after_value
        return value if after is None else Sequence((value, after))
