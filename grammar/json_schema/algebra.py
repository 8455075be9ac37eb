"""Intersection, union and complement of canonical forms, one level at a time.

Nothing here looks into a term: children are only conjoined or negated, which is interning.
So every operation costs what stands at one level of the schema, and recursive schemas need no
care. Products of unions are the one thing that can explode; ``Limits.alternatives`` bounds
how many pairs of alternatives one schema may combine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...errors import LimitError, UnsupportedSchemaError
from ...limits import Limits
from .languages import Languages
from .nodes import (
    ANY_ARRAY,
    ANY_OBJECT,
    EVERYTHING,
    FALSE,
    NOTHING,
    TRUE,
    ArrayNode,
    Count,
    KeyObligation,
    Layer,
    Normal,
    ObjectNode,
    Term,
)
from .scalars import ANY_NUMBER, ANY_STRING
from .sites import Site, Sites
from .subsumption import without_subsumed
from .terms import Terms

__all__ = ["Algebra", "array_node", "inexpressible"]

T = TypeVar("T")


class Algebra(Terms):
    """The terms of a schema, and the operations on canonical forms over them.

    Args:
        sites: where the subschemas are.
        languages: to match declared names against patterns.
    """

    def __init__(self, sites: Sites, languages: Languages, limits: Limits) -> None:
        super().__init__(sites)
        self.languages = languages
        self._limits = limits
        self._products = 0

    # ------------------------------------------------------------------ unions

    def union(self, normals: Iterable[Normal]) -> Normal:
        """All values of all of them; repeated alternatives are dropped."""
        parts = [normal for normal in normals if normal is not NOTHING]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return NOTHING
        return Normal(
            null=any(part.null for part in parts),
            true=any(part.true for part in parts),
            false=any(part.false for part in parts),
            numbers=_merged((n for part in parts for n in part.numbers), ANY_NUMBER),
            strings=_merged((s for part in parts for s in part.strings), ANY_STRING),
            arrays=_merged((a for part in parts for a in part.arrays), ANY_ARRAY),
            objects=_merged((o for part in parts for o in part.objects), ANY_OBJECT),
        )

    # ------------------------------------------------------------------ intersections

    def intersect(self, a: Normal, b: Normal) -> Normal:
        """Values in both."""
        if a is EVERYTHING or b is NOTHING:
            return b
        if b is EVERYTHING or a is NOTHING:
            return a
        return Normal(
            null=a.null and b.null,
            true=a.true and b.true,
            false=a.false and b.false,
            numbers=self._product(a.numbers, b.numbers, lambda x, y: _some(x.intersect(y))),
            strings=self._product(a.strings, b.strings, lambda x, y: _some(x.intersect(y))),
            arrays=self._product(a.arrays, b.arrays, self.intersect_arrays),
            objects=without_subsumed(self._product(a.objects, b.objects, self.intersect_objects)),
        )

    def _product(
        self,
        left: tuple[T, ...],
        right: tuple[T, ...],
        meet: Callable[[T, T], tuple[T, ...]],
    ) -> tuple[T, ...]:
        if not left or not right:
            return ()
        if len(left) == len(right) == 1:
            self._products += 1
            return meet(left[0], right[0])
        self._products += len(left) * len(right)
        self.check_count(self._products)
        return tuple(dict.fromkeys(node for x in left for y in right for node in meet(x, y)))

    def restart_count(self) -> None:
        """Count the pairs of alternatives anew: another part of the schema is being read."""
        self._products = 0

    def check_count(self, count: int) -> None:
        """Raise ``LimitError`` for more alternatives than a schema may combine."""
        allowed = self._limits.alternatives
        if count > allowed:
            raise LimitError(
                stage="combining the alternatives of a schema",
                limit="alternatives",
                allowed=allowed,
                actual=count,
                culprit=self.sites.root.pointer,
            )

    def intersect_arrays(self, a: ArrayNode, b: ArrayNode) -> tuple[ArrayNode, ...]:
        """Arrays in both: one node or none."""
        if a is ANY_ARRAY:
            return (b,)
        if b is ANY_ARRAY or a is b:
            return (a,)
        low = max(a.min, b.min)
        high = min((h for h in (a.max, b.max) if h is not None), default=None)
        length = max(len(a.prefix), len(b.prefix))
        prefix = tuple(self.conjoin((a.item(i), b.item(i))) for i in range(length))
        rest = self.conjoin((a.rest, b.rest))
        counts = a.counts + b.counts
        return array_node(prefix, rest, low, high, counts, unique=a.unique or b.unique)

    def other(self, node: ObjectNode, key: str) -> Term:
        """What an object node says about a key that is not among its named ones."""
        layers = node.layers
        if not layers:
            return TRUE
        if len(layers) == 1:
            return self.of_layer(layers[0], key)
        return self.conjoin([self.of_layer(layer, key) for layer in layers])

    def of_layer(self, layer: Layer, key: str) -> Term:
        """What one layer says about a key."""
        if not layer.patterns:
            return layer.additional
        found = [t for pattern, t in layer.patterns if self.languages.matches(pattern, key)]
        return self.conjoin(found) if found else layer.additional

    def intersect_objects(self, a: ObjectNode, b: ObjectNode) -> tuple[ObjectNode, ...]:
        """Objects in both: one node or none, several where obligations can be resolved."""
        if a == ANY_OBJECT:
            return (b,)
        if b == ANY_OBJECT or a == b:
            return (a,)
        named: dict[str, Term] = {}
        theirs = dict(b.named)
        for key, term in a.named:
            other = theirs.pop(key, None)
            if other is None:
                other = self.other(b, key)
            named[key] = self._both(term, other)
        for key, term in theirs.items():
            named[key] = self._both(term, self.other(a, key))
        node = ObjectNode(
            named=tuple(named.items()),
            required=a.required | b.required,
            layers=tuple(dict.fromkeys(a.layers + b.layers)) if a.layers else b.layers,
            names=self._both(a.names, b.names),
            min=max(a.min, b.min),
            max=min((h for h in (a.max, b.max) if h is not None), default=None),
            obligations=tuple(dict.fromkeys(a.obligations + b.obligations)),
            shut=a.shut or b.shut,
        )
        return self.resolved(node)

    def _both(self, a: Term, b: Term) -> Term:
        """The intersection of two terms."""
        if a is b or b is TRUE:
            return a
        return b if a is TRUE else self.conjoin((a, b))

    def resolved(self, node: ObjectNode) -> tuple[ObjectNode, ...]:
        """The node without plain contradictions and, if it is closed, without obligations."""
        required = node.required
        for key, term in node.named:
            if term is FALSE and key in required:
                return ()
        if node.max is not None and node.max < max(node.min, len(node.required)):
            return ()
        if not node.obligations or not node.is_closed:
            return (node,)
        alternatives = [(dict(node.named), node.required)]
        for obligation in node.obligations:
            if obligation.names is not TRUE:
                return (node,)
            found: list[tuple[dict[str, Term], frozenset[str]]] = []
            for named, required in alternatives:
                for key in named:
                    if not self.concerns(obligation, key):
                        continue
                    term = self.conjoin((named[key], obligation.term))
                    if term is not FALSE:
                        found.append(({**named, key: term}, required | {key}))
            self.check_count(len(found))
            alternatives = found
        return tuple(
            dict.fromkeys(
                ObjectNode(
                    named=tuple(named.items()),
                    required=required,
                    layers=node.layers,
                    names=node.names,
                    min=node.min,
                    max=node.max,
                    shut=node.shut,
                )
                for named, required in alternatives
                if node.max is None or len(required) <= node.max
            )
        )

    def concerns(self, obligation: KeyObligation, key: str) -> bool:
        """Whether a key can meet an obligation, its ``names`` aside."""
        matches = self.languages.matches
        return (
            key not in obligation.declared
            and (obligation.pattern is None or matches(obligation.pattern, key))
            and not any(matches(pattern, key) for pattern in obligation.unmatched)
        )

    # ------------------------------------------------------------------ complements

    def complement(self, normal: Normal, blame: Site | None) -> Normal:
        """All other values.

        Raises:
            UnsupportedSchemaError: for complements that no union of nodes is, blamed on a site.
        """
        numbers: tuple[Any, ...] = (ANY_NUMBER,)
        for number in normal.numbers:
            numbers = self._product(
                numbers, number.complement(), lambda x, y: _some(x.intersect(y))
            )
        strings: tuple[Any, ...] = (ANY_STRING,)
        for string in normal.strings:
            strings = self._product(
                strings, string.complement(), lambda x, y: _some(x.intersect(y))
            )
        arrays: tuple[ArrayNode, ...] = (ANY_ARRAY,)
        for array in normal.arrays:
            arrays = self._product(arrays, self._other_arrays(array, blame), self.intersect_arrays)
        objects: tuple[ObjectNode, ...] = (ANY_OBJECT,)
        for node in normal.objects:
            others_of = self._other_objects(node, blame)
            objects = self._product(objects, others_of, self.intersect_objects)
            objects = without_subsumed(objects)
        return Normal(
            not normal.null,
            not normal.true,
            not normal.false,
            numbers,
            strings,
            arrays,
            objects,
        )

    def _other_arrays(self, node: ArrayNode, blame: Site | None) -> tuple[ArrayNode, ...]:
        if node.unique:
            raise inexpressible("not", blame)
        result: list[ArrayNode] = []
        if node.min > 0:
            result.append(ArrayNode(max=node.min - 1))
        if node.max is not None:
            result.append(ArrayNode(min=node.max + 1))
        for i, term in enumerate(node.prefix):
            if term is not TRUE:
                other = self.negate(term)
                result.append(ArrayNode(prefix=(TRUE,) * i + (other,), min=i + 1))
        length = len(node.prefix)
        if node.rest is FALSE:
            result.append(ArrayNode(min=length + 1))
        elif node.rest is not TRUE:
            wrong = Count(length, self.negate(node.rest), 1)
            result.append(ArrayNode(min=length + 1, counts=(wrong,)))
        for start, term, least, most in node.counts:
            if least == 1:
                result.append(ArrayNode(prefix=(TRUE,) * start, rest=self.negate(term)))
            elif least > 1:
                result.append(ArrayNode(counts=(Count(start, term, 0, least - 1),)))
            if most is not None:
                many = Count(start, term, most + 1)
                result.append(ArrayNode(min=start + most + 1, counts=(many,)))
        return tuple(result)

    def _other_objects(self, node: ObjectNode, blame: Site | None) -> tuple[ObjectNode, ...]:
        if node.obligations:
            raise inexpressible("not", blame)
        result: list[ObjectNode] = []
        terms = dict(node.named)
        for key, term in node.named:
            absent = ObjectNode(named=((key, FALSE),))
            if key in node.required:
                result.append(absent)
            if term is not TRUE:
                wrong = self.negate(term)
                result.append(ObjectNode(named=((key, wrong),), required=frozenset((key,))))
        declared = frozenset(terms)
        for layer in node.layers:
            patterns = tuple(pattern for pattern, _ in layer.patterns)
            for pattern, term in layer.patterns:
                if term is not TRUE:
                    result.append(_obliged(declared, pattern, (), TRUE, self.negate(term)))
            if layer.additional is not TRUE:
                result.append(
                    _obliged(declared, None, patterns, TRUE, self.negate(layer.additional))
                )
        if node.names is not TRUE:
            result.append(_obliged(frozenset(), None, (), self.negate(node.names), TRUE))
        if node.min > 0:
            result.append(ObjectNode(max=node.min - 1))
        if node.max is not None:
            result.append(ObjectNode(min=node.max + 1))
        return tuple(result)


def array_node(
    prefix: tuple[Term, ...],
    rest: Term,
    low: int,
    high: int | None,
    counts: tuple[Count, ...] = (),
    *,
    unique: bool = False,
) -> tuple[ArrayNode, ...]:
    """A node in normal form: items that cannot be bound the length, and ``()`` is no array."""
    if len(counts) > 1:
        merged: dict[tuple[int, Term], Count] = {}
        for start, term, least, most in counts:
            other = merged.get((start, term), Count(start, term, 0))
            bounds = [bound for bound in (most, other.most) if bound is not None]
            most = min(bounds, default=None)
            merged[start, term] = Count(start, term, max(least, other.least), most)
        counts = tuple(merged.values())
    if any(count.most is not None and count.least > count.most for count in counts):
        return ()
    for i, term in enumerate(prefix):
        if term is FALSE and (high is None or high > i):
            high = i
    if rest is FALSE and (high is None or high > len(prefix)):
        high = len(prefix)
    if high is not None:
        if low > high or any(start + least > high for start, _, least, _ in counts if least):
            return ()
        prefix = prefix[:high]
    unique = unique and (high is None or high > 1)
    return (ArrayNode(prefix, rest, low, high, counts, unique),)


def inexpressible(keyword: str, blame: Site | None) -> UnsupportedSchemaError:
    """The error for a schema whose complement would be needed but has no normal form."""
    return UnsupportedSchemaError(
        f"{keyword} needs the complement of a subschema that cannot be enforced exactly; "
        "rewrite it with required, enum, const or type, or drop it knowingly with "
        f"relax=({keyword!r},)",
        keyword=keyword,
        pointer=blame.pointer if blame is not None else "#",
    )


def _obliged(
    declared: frozenset[str],
    pattern: str | None,
    unmatched: tuple[str, ...],
    names: Term,
    term: Term,
) -> ObjectNode:
    obligation = KeyObligation(declared, pattern, unmatched, names, term)
    return ObjectNode(min=1, obligations=(obligation,))


def _some(part: T | None) -> tuple[T, ...]:
    return () if part is None else (part,)


def _merged(nodes: Iterable[T], everything: T) -> tuple[T, ...]:
    unique = tuple(dict.fromkeys(nodes))
    return (everything,) if everything in unique else unique
