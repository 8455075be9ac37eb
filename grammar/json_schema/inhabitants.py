"""Which canonical forms hold a value, asked step by step.

The methods are generators that yield the questions they depend on (:mod:`.questions`) and get
the answers sent in; they hold no state, so no depth of schema matters. An object holds a value
if each required property does; arrays are :mod:`.array_items` and :mod:`.distinct`.

Obligations of objects ("some property violates S") are looked at one by one. That they can be met
together is left to the rules, which refuse those that cannot. So an answer yes may be wrong there,
an answer no never is.
"""

from __future__ import annotations

from typing import Any

from .algebra import Algebra
from .array_items import ArrayItems
from .distinct import DistinctItems
from .key_pieces import concerned_keys, pieces_of
from .nodes import TRUE, ArrayNode, Normal, ObjectNode, Term
from .questions import Goal, Kind, Steps

__all__ = ["Inhabitants", "subsets"]


class Inhabitants:
    """The steps for one algebra; ``loose`` says which forms of subschemas are asked for.

    Attributes:
        items, distinct: the same for arrays.
    """

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra
        self._languages = algebra.languages
        self.items = ArrayItems(algebra)
        self.distinct = DistinctItems(algebra, self.items)

    def of_term(self, term: Term, loose: bool) -> Steps:
        """Whether a term holds a value."""
        normal = yield Goal(Kind.FORM, term, loose)
        answer = yield from self.of_form(normal, loose)
        return answer

    def of_form(self, normal: Normal, loose: bool) -> Steps:
        """Whether a canonical form holds a value."""
        languages = self._languages
        if normal.null or normal.true or normal.false:
            return True
        if any(languages.has_number(part) for part in normal.numbers):
            return True
        if any(languages.has_string(part) for part in normal.strings):
            return True
        for array in normal.arrays:
            answer = yield from self._array(array, loose)
            if answer:
                return True
        for node in normal.objects:
            answer = yield from self._object(node, loose)
            if answer:
                return True
        return False

    def _array(self, node: ArrayNode, loose: bool) -> Steps:
        state = self.items.first(node)
        answer = yield from self.items.can_end(node, state, loose)
        if answer and node.unique:
            answer = yield from self.distinct.are_enough(node, state, frozenset())
        return answer

    def _object(self, node: ObjectNode, loose: bool) -> Steps:
        if node.names is not TRUE:
            names = yield Goal(Kind.FORM, node.names, loose)
            for key in node.required:
                if not any(self._languages.contains(part, key) for part in names.strings):
                    return False
        for key, term in node.named:
            if key in node.required:
                answer = yield Goal(Kind.INHABITED, term, loose)
                if not answer:
                    return False
        if node.obligations and node.names is TRUE:
            answer = yield from self._can_oblige(node, loose)
            if not answer:
                return False
        lacking = node.min - len(node.required)
        if lacking <= 0:
            return True
        for key, term in node.named:
            if key not in node.required and lacking > 0:
                if node.names is not TRUE and not any(
                    self._languages.contains(part, key) for part in names.strings
                ):
                    continue
                answer = yield Goal(Kind.INHABITED, term, loose)
                lacking -= bool(answer)
        if lacking <= 0:
            return True
        if node.is_closed or (node.shut and not node.layers):
            return False
        terms = [t for layer in node.layers for _, t in layer.patterns]
        terms.append(self._algebra.conjoin(layer.additional for layer in node.layers))
        for term in terms:
            answer = yield Goal(Kind.INHABITED, term, loose)
            if answer:
                return True
        return False

    def _can_oblige(self, node: ObjectNode, loose: bool) -> Steps:
        """Whether each obligation by itself can be met by some member."""
        algebra = self._algebra
        pieces = None
        for i, obligation in enumerate(node.obligations):
            candidates = [term for key, term in node.named if algebra.concerns(obligation, key)]
            if not node.is_closed and not (node.shut and not node.layers):
                if pieces is None:
                    concerned = [concerned_keys(algebra, other) for other in node.obligations]
                    pieces = pieces_of(algebra, node, concerned)
                candidates += [term for term, concerns in pieces if i in concerns]
            for term in candidates:
                met = algebra.conjoin((term, obligation.term))
                answer = yield Goal(Kind.INHABITED, met, loose)
                if answer:
                    break
            else:
                return False
        return True


def subsets(items: list[Any]) -> list[tuple[Any, ...]]:
    """All subsets, larger ones first."""
    result: list[tuple[Any, ...]] = [()]
    for item in items:
        result += [(*chosen, item) for chosen in result]
    return sorted(result, key=len, reverse=True)
