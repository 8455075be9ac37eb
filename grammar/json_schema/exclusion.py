"""Everything but a finite set of values, as a canonical form.

The complement of one object is a union ("a is missing, or a is something else, or …"), so the
complement of many by intersecting would be a product of unions. Instead the values are told apart
one place at a time, as in a trie: an item or property is something that none of the values has
there, or it is what some of them have, and then only these are left. That makes about as many
disjoint alternatives as there are places in all values together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .algebra import Algebra
from .nodes import FALSE, TRUE, ArrayNode, KeyObligation, Normal, ObjectNode, Term
from .scalars import NumberPart, StringPart, single
from .sites import Site
from .terms import ASSERTIONS
from .values import Value, canonical, value_of

__all__ = ["Exclusion", "listed_values"]


def listed_values(term: Term) -> list[Any] | None:
    """The values of a term that lists them with ``enum`` or ``const`` and says nothing else."""
    if len(term.literals) != 1 or not isinstance(term.literals[0], Site):
        return None
    schema = term.literals[0].schema
    (keyword, *others) = ASSERTIONS.intersection(schema)
    if others or keyword not in ("enum", "const"):
        return None
    return [schema["const"]] if keyword == "const" else list(schema["enum"])


class Exclusion:
    """Makes the forms for one algebra."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def term(self, values: Iterable[Value]) -> Term:
        """Everything but some values, as a term."""
        algebra, chosen = self._algebra, frozenset(values)
        if not chosen:
            return TRUE
        schema = {"enum": [value_of(value) for value in sorted(chosen, key=repr)]}
        site = algebra.sites.synthetic(schema, algebra.sites.root, "values", chosen)
        return algebra.negate(algebra.term(site))

    def form(self, listed: Iterable[Any]) -> Normal:
        """Everything but some values, as a canonical form."""
        values = dict.fromkeys(map(canonical, listed))
        by_type: dict[str, list[Any]] = {}
        for kind, value in values:
            by_type.setdefault(kind, []).append(value)
        booleans = by_type.get("boolean", ())
        return Normal(
            "null" not in by_type,
            True not in booleans,
            False not in booleans,
            (NumberPart(excluded=frozenset(map(single, by_type.get("number", ())))),),
            (StringPart(excluded=frozenset(by_type.get("string", ()))),),
            tuple(self._arrays(by_type.get("array", []))),
            tuple(self._objects(by_type.get("object", []))),
        )

    def _constant(self, value: Value) -> Term:
        algebra = self._algebra
        return algebra.constant(value_of(value), algebra.sites.root, "value", value)

    def _arrays(self, values: list[tuple[Value, ...]]) -> Iterable[ArrayNode]:
        # Groups of values with the same first items.
        pending: list[tuple[tuple[Value, ...], list[tuple[Value, ...]]]] = [((), values)]
        while pending:
            start, group = pending.pop()
            prefix = tuple(map(self._constant, start))
            size = len(start)
            if start not in group:
                yield ArrayNode(prefix, FALSE, size, size)
            groups: dict[Value, list[tuple[Value, ...]]] = {}
            for value in group:
                if len(value) > size:
                    groups.setdefault(value[size], []).append(value)
            yield ArrayNode((*prefix, self.term(groups)), TRUE, size + 1)
            pending.extend(((*start, item), same) for item, same in groups.items())

    def _objects(self, values: list[frozenset[tuple[str, Value]]]) -> Iterable[ObjectNode]:
        # Groups of values that agree on some properties; ``None``: that it is missing.
        group = [dict(value) for value in values]
        pending: list[tuple[dict[str, Value | None], list[dict[str, Value]]]] = [({}, group)]
        while pending:
            decided, group = pending.pop()
            keys = dict.fromkeys(key for value in group for key in sorted(value))
            key = next((key for key in keys if key not in decided), None)
            named = tuple(
                (name, FALSE if value is None else self._constant(value))
                for name, value in decided.items()
            )
            present = frozenset(name for name, value in decided.items() if value is not None)
            if not group:
                yield ObjectNode(named, present)
            elif key is None:
                # All agree, so there is only one: there must be some other property.
                other = KeyObligation(frozenset(decided), None, (), TRUE, TRUE)
                yield ObjectNode(named, present, min=len(present) + 1, obligations=(other,))
            else:
                groups: dict[Value | None, list[dict[str, Value]]] = {None: []}
                for value in group:
                    groups.setdefault(value.get(key), []).append(value)
                others = self.term(value for value in groups if value is not None)
                yield ObjectNode((*named, (key, others)), present | {key})
                pending.extend(({**decided, key: item}, same) for item, same in groups.items())
