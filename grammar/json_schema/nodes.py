"""Canonical forms of schemas: per JSON type, a union of nodes.

A :class:`Normal` is a set of JSON values, split by type. Strings and numbers are unions of the
parts of :mod:`.scalars`; arrays and objects are unions of nodes whose children are *terms*:
interned conjunctions of subschemas that nobody has looked into yet. That keeps normal forms
as small as one level of the schema and ends recursion.

A term is a conjunction of *literals*; a literal is a :class:`.sites.Site` or the negation of a
term. Terms are interned in the algebra, so comparing them is comparing objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .scalars import ANY_NUMBER, ANY_STRING, NumberPart, StringPart
from .sites import Site

if TYPE_CHECKING:
    from ..ir import Expr

__all__ = [
    "ANY_ARRAY",
    "ANY_OBJECT",
    "EVERYTHING",
    "FALSE",
    "NOTHING",
    "TRUE",
    "ArrayNode",
    "Count",
    "KeyObligation",
    "Layer",
    "Literal",
    "Negation",
    "Normal",
    "ObjectNode",
    "Term",
]


class Negation:
    """All values that are not in a term. Interned with it: compare by identity."""

    __slots__ = ("term", "uid")

    def __init__(self, term: Term, uid: int) -> None:
        self.term = term
        self.uid = uid


Literal: TypeAlias = Site | Negation


class Term:
    """An interned conjunction of literals; none of them means every value.

    Attributes:
        uid: also the key of its rule.
        literals: in the order they were met, which is the order properties are written in.
        normal, inhabited: results of the algebra, ``None`` until they are known.
        negation: the literal for its complement, once there is one.
        expression: what the rules make of it, once they have.
    """

    __slots__ = ("expression", "inhabited", "literals", "negation", "normal", "uid")

    def __init__(self, literals: tuple[Literal, ...], uid: int) -> None:
        self.literals = literals
        self.uid = uid
        self.normal: Normal | None = None
        self.inhabited: bool | None = None
        self.negation: Negation | None = None
        self.expression: Expr | None = None

    @property
    def site(self) -> Site | None:
        """The subschema to name in errors: the first one in it."""
        for literal in self.literals:
            site = literal if isinstance(literal, Site) else literal.term.site
            if site is not None:
                return site
        return None

    def __repr__(self) -> str:
        return f"Term({self.uid}: {self.literals!r})"


TRUE = Term((), 0)
FALSE = Term((), 1)


class Count(NamedTuple):
    """At least ``least`` and at most ``most`` items at index ``start`` or later are in ``term``."""

    start: int
    term: Term
    least: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """Arrays of ``min`` to ``max`` items: the first ones as in ``prefix``, others as ``rest``.

    Attributes:
        counts: one for each start and term.
        unique: no two items are equal.
    """

    prefix: tuple[Term, ...] = ()
    rest: Term = TRUE
    min: int = 0
    max: int | None = None
    counts: tuple[Count, ...] = ()
    unique: bool = False

    def item(self, index: int) -> Term:
        return self.prefix[index] if index < len(self.prefix) else self.rest


@dataclass(frozen=True, slots=True)
class Layer:
    """What one schema says about keys that it does not declare.

    A key is subject to the terms of all ``patterns`` that it matches, if any, else to
    ``additional``.
    """

    patterns: tuple[tuple[str, Term], ...]
    additional: Term


@dataclass(frozen=True, slots=True)
class KeyObligation:
    """Some property whose key is as described has a value in ``term``.

    The key is not in ``declared``, matches ``pattern`` if there is one, matches none of
    ``unmatched``, and is (as a string) in ``names``.
    """

    declared: frozenset[str]
    pattern: str | None
    unmatched: tuple[str, ...]
    names: Term
    term: Term


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """Objects by their properties.

    Attributes:
        named: declared properties in the order they are written. Complete: patterns that
            match the name are already part of the term, which may be ``FALSE``.
        required: names of properties that must be there; all are in ``named``.
        layers: each applies to every key that is not in ``named``.
        names: what all keys, as strings, must be in.
        min, max: bounds on the number of properties.
        obligations: each must be met by some property. Comes from complements.
        shut: closed where no layer says otherwise (``additional_properties="closed"``).
    """

    named: tuple[tuple[str, Term], ...] = ()
    required: frozenset[str] = frozenset()
    layers: tuple[Layer, ...] = ()
    names: Term = TRUE
    min: int = 0
    max: int | None = None
    obligations: tuple[KeyObligation, ...] = ()
    shut: bool = False

    @property
    def is_closed(self) -> bool:
        """Certainly no key but the named ones is possible."""
        return any(not layer.patterns and layer.additional is FALSE for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Normal:
    """A set of JSON values: per type, a union."""

    null: bool = False
    true: bool = False
    false: bool = False
    numbers: tuple[NumberPart, ...] = ()
    strings: tuple[StringPart, ...] = ()
    arrays: tuple[ArrayNode, ...] = ()
    objects: tuple[ObjectNode, ...] = ()

    @property
    def size(self) -> int:
        """Number of alternatives."""
        return len(self.numbers) + len(self.strings) + len(self.arrays) + len(self.objects)


ANY_ARRAY = ArrayNode()
ANY_OBJECT = ObjectNode()
EVERYTHING = Normal(True, True, True, (ANY_NUMBER,), (ANY_STRING,), (ANY_ARRAY,), (ANY_OBJECT,))
NOTHING = Normal()
