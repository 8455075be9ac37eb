"""What ``unevaluatedProperties`` and ``unevaluatedItems`` are about: which keywords saw what.

Which properties and items of a value are *evaluated* depends on the branches that hold for it.
So a subschema is split into :class:`Case`\\ s: canonical forms, each with what is surely evaluated
for its values. The union of the forms is the subschema without the two keywords; each of them
then restricts every form by itself.

Evaluating more only ever allows more. Cases may therefore overlap, and no complement is needed to
keep them apart: a value that is in several cases is right if one of them lets it pass, and the
case of all branches that hold for it is the one that decides. ``anyOf`` is every set of branches
that evaluates something that no smaller set does; ``if`` holds or is not asked about. Only where
``else``, ``oneOf`` and ``not`` negate by themselves are there complements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from .algebra import Algebra
from .keywords import KeywordReader
from .nodes import EVERYTHING, FALSE, NOTHING, TRUE, ArrayNode, Layer, Normal, ObjectNode, Term
from .sites import Site

__all__ = ["UNSEEN", "Case", "Cases", "CasesOf", "Evaluated", "FormsOf"]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What is evaluated of a value.

    Attributes:
        names: properties by name.
        patterns: properties whose names match one of these.
        properties: all properties.
        prefix: the first items, so many.
        contained: items that are in one of these terms.
        items: all items.
    """

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    properties: bool = False
    prefix: int = 0
    contained: frozenset[Term] = frozenset()
    items: bool = False

    def union(self, other: Evaluated) -> Evaluated:
        """What either evaluates."""
        if other is UNSEEN or other == self:
            return self
        if self is UNSEEN:
            return other
        properties = self.properties or other.properties
        items = self.items or other.items
        return Evaluated(
            frozenset() if properties else self.names | other.names,
            frozenset() if properties else self.patterns | other.patterns,
            properties,
            0 if items else max(self.prefix, other.prefix),
            frozenset() if items else self.contained | other.contained,
            items,
        )


UNSEEN = Evaluated()
"""Nothing is evaluated."""

Case: TypeAlias = tuple[Normal, Evaluated]
Cases: TypeAlias = tuple[Case, ...]


class FormsOf:
    """How canonical forms are combined where nobody asks what is evaluated.

    The same operations as :class:`CasesOf`, on forms.
    """

    splits = False

    def __init__(self, algebra: Algebra, reader: KeywordReader) -> None:
        self._algebra = algebra
        self.own = reader.read
        self.both = algebra.intersect
        self.either = algebra.union

    def of(self, normal: Normal) -> Normal:
        """A form for whose values nothing is evaluated."""
        return normal

    def form(self, parts: Normal) -> Normal:
        """All values."""
        return parts

    def some(self, context: Normal, options: list[Normal]) -> Normal:
        """The context together with at least one of the options."""
        return self._algebra.intersect(context, self._algebra.union(options))


class CasesOf:
    """How the cases of subschemas are combined."""

    splits = True

    def __init__(self, algebra: Algebra, reader: KeywordReader) -> None:
        self._algebra = algebra
        self._reader = reader

    def own(self, site: Site) -> Cases:
        """The case of the keywords that apply nothing in place."""
        return self._case(self._reader.read(site), self._evaluated(site))

    def _evaluated(self, site: Site) -> Evaluated:
        """What the keywords of a subschema evaluate that apply nothing in place."""
        schema, dialect = site.schema, site.resource.dialect
        properties = "additionalProperties" in schema
        contained: frozenset[Term] = frozenset()
        if isinstance(schema.get("items"), list):
            prefix = len(schema["items"])
            items = "additionalItems" in schema
        else:
            prefix = len(schema.get("prefixItems", ()))
            items = "items" in schema
        if "contains" in schema and dialect.contains_evaluates:
            contained = frozenset((self._algebra.child(site, "contains"),))
        return UNSEEN.union(
            Evaluated(
                frozenset() if properties else frozenset(schema.get("properties", ())),
                frozenset() if properties else frozenset(schema.get("patternProperties", ())),
                properties,
                0 if items else prefix,
                frozenset() if items else contained,
                items,
            )
        )

    def of(self, normal: Normal) -> Cases:
        """A form for whose values nothing is evaluated."""
        return self._case(normal, UNSEEN)

    def _case(self, normal: Normal, seen: Evaluated) -> Cases:
        return () if normal == NOTHING else ((normal, seen),)

    def form(self, cases: Cases) -> Normal:
        """The values of all cases."""
        return self._algebra.union(normal for normal, _ in cases)

    def either(self, parts: Iterable[Cases]) -> Cases:
        """The cases of a disjunction of which only one part counts."""
        return self._merged(case for cases in parts for case in cases)

    def both(self, left: Cases, right: Cases) -> Cases:
        """The cases of a conjunction."""
        meet = self._algebra.intersect
        return self._merged(
            (meet(a, b), seen.union(other)) for a, seen in left for b, other in right
        )

    def some(self, context: Cases, parts: list[Cases]) -> Cases:
        """The cases of ``context`` together with at least one of the parts."""
        options = [case for cases in parts for case in cases]
        found: list[Case] = []
        for normal, seen in context:
            found.extend(self._some(normal, seen, options))
        return self._merged(found)

    def _some(self, normal: Normal, seen: Evaluated, options: list[Case]) -> Iterable[Case]:
        algebra = self._algebra
        # By the options chosen; one more must evaluate more than they do.
        choices: dict[frozenset[int], Case] = {frozenset(): (normal, seen)}
        while choices:
            larger: dict[frozenset[int], Case] = {}
            for chosen, (form, evaluated) in choices.items():
                for i, (option, more) in enumerate(options):
                    union = evaluated.union(more)
                    if i in chosen or (chosen and union == evaluated):
                        continue
                    key = chosen | {i}
                    if key not in larger:
                        algebra.check_count(len(larger))
                        both = algebra.intersect(form, option)
                        if both != NOTHING:
                            larger[key] = both, union
            yield from larger.values()
            choices = larger

    def _merged(self, cases: Iterable[Case]) -> Cases:
        """The cases with forms that evaluate the same united."""
        forms: dict[Evaluated, list[Normal]] = {}
        for normal, seen in cases:
            if normal != NOTHING:
                forms.setdefault(seen, []).append(normal)
        return tuple((self._algebra.union(parts), seen) for seen, parts in forms.items())

    def restricted(self, cases: Cases, site: Site) -> Cases:
        """The cases held to the ``unevaluated…`` keywords of a site, which evaluate the rest."""
        schema, algebra = site.schema, self._algebra
        steps: list[Callable[[Normal, Evaluated], Normal]] = []
        everything = UNSEEN
        if "unevaluatedProperties" in schema:
            others = algebra.child(site, "unevaluatedProperties")
            steps.append(lambda normal, seen: self._properties(normal, seen, others))
            everything = everything.union(Evaluated(properties=True))
        if "unevaluatedItems" in schema:
            rest = algebra.child(site, "unevaluatedItems")
            steps.append(lambda normal, seen: self._items(normal, seen, rest))
            everything = everything.union(Evaluated(items=True))
        found: list[Case] = []
        for normal, seen in cases:
            for step in steps:
                normal = step(normal, seen)
            found.append((normal, seen.union(everything)))
        return self._merged(found)

    def _properties(self, normal: Normal, seen: Evaluated, others: Term) -> Normal:
        if seen.properties or others is TRUE or not normal.objects:
            return normal
        patterns = tuple((pattern, TRUE) for pattern in sorted(seen.patterns))
        node = ObjectNode(
            named=tuple((name, TRUE) for name in sorted(seen.names)),
            layers=(Layer(patterns, others),),
        )
        return self._algebra.intersect(normal, replace(EVERYTHING, objects=(node,)))

    def _items(self, normal: Normal, seen: Evaluated, others: Term) -> Normal:
        if seen.items or others is TRUE or not normal.arrays:
            return normal
        algebra = self._algebra
        # In one of the terms that were contained, or as the keyword asks.
        allowed = (others, *sorted(seen.contained, key=lambda term: term.uid))
        rest = algebra.negate(algebra.conjoin(algebra.negate(term) for term in allowed))
        prefix = (TRUE,) * seen.prefix
        high = seen.prefix if rest is FALSE else None
        node = ArrayNode(prefix, rest, 0, high)
        return algebra.intersect(normal, replace(EVERYTHING, arrays=(node,)))
