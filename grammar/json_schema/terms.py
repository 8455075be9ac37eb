"""Terms: interned conjunctions of subschemas.

Interning is what makes the algebra lazy and finite. A term is only a set of literals; nobody has
looked into them. Equal conjunctions are one object, so recursion meets itself again, results
are remembered by identity, and a schema with n subschemas has few terms however often they meet.

Some cheap simplifications are made here because they keep everything after this small: bare
references and ``not`` are followed, equal small subschemas are one term wherever they stand, and
conjunctions that plainly hold for nothing are ``FALSE``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from collections.abc import Sequence as SequenceOf
from fractions import Fraction
from typing import Any

from .nodes import FALSE, TRUE, Literal, Negation, Term
from .numbers import exact
from .sites import REFERENCES, Site, Sites

__all__ = ["ASSERTIONS", "BARE_TYPE", "IN_PLACE", "UNEVALUATED", "Terms"]

_PLAIN = frozenset(
    [
        "type",
        "enum",
        "const",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]
)
BARE_TYPE = frozenset(["type", "title", "description", "default", "examples", "example"])
"""Keywords of a subschema that is a type and annotations."""
_SHAPE_VALUES = 20
_SHAPE_DEPTH = 3

_FIRST_UID = 2
"""TRUE and FALSE have the numbers below."""

ASSERTIONS: frozenset[str] = frozenset(
    [
        "type",
        "enum",
        "const",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)

IN_PLACE = frozenset(
    [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
"""Keywords that apply subschemas to the same value, or depend on those that do."""

UNEVALUATED = frozenset(("unevaluatedItems", "unevaluatedProperties"))


class Terms:
    """The terms of one schema.

    Args:
        sites: where the subschemas are.

    Attributes:
        by_uid: all terms but ``TRUE`` and ``FALSE``.
    """

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self._terms: dict[tuple[int, ...], Term] = {}
        self._of_site: dict[int, Term] = {}
        self._of_shape: dict[Hashable, Term] = {}
        self.by_uid: dict[int, Term] = {}
        self._count = _FIRST_UID

    def term(self, site: Site) -> Term:
        """The term of one subschema; follows bare references to where they lead."""
        found = self._of_site.get(site.uid)
        if found is not None:
            return found
        seen = [site]
        target = site
        while True:
            schema = target.schema
            if isinstance(schema, bool):
                found = TRUE if schema else FALSE
                break
            relevant = ASSERTIONS.intersection(schema)
            if not relevant:
                found = TRUE
                break
            if len(relevant) == 1 and "not" in relevant:
                inner = self.sites.child(target, "not")
                if inner.schema is not schema:
                    found = self.negate(self.term(inner))
                # Two of them are no identity for what is evaluated.
                if found is None or not _is_negation(found):
                    found = self._intern((target,))
                break
            (keyword, *others) = relevant
            if others or keyword not in REFERENCES:
                found = self._of_site.get(target.uid)
                if found is None:
                    shape = self._shape(target, relevant)
                    found = self._of_shape.get(shape) if shape is not None else None
                    if found is None:
                        found = self._intern((target,))
                        if shape is not None:
                            self._of_shape[shape] = found
                break
            target = self.sites.resolve(target, schema[keyword], keyword)
            if target in seen:  # a loop of references: normalising it reports that
                found = self._intern((site,))
                break
            seen.append(target)
        for passed in seen:
            self._of_site[passed.uid] = found
        return found

    def _shape(self, site: Site, relevant: frozenset[str]) -> Hashable:
        """What a small subschema says, so that equal ones become one term wherever they stand.

        That shares their rules, and lets contradictions between copies be seen.
        """
        schema = site.schema
        strict = site.resource.dialect.strict_integer
        if len(relevant) == 1 and "type" in relevant:
            kinds = schema["type"]
            if isinstance(kinds, str):
                return (kinds, strict)
        shape: list[tuple[str, str | int]] = []
        for keyword in sorted(relevant):
            value = schema[keyword]
            if keyword == "items" and isinstance(value, dict) and len(relevant) <= 3:
                # A chain of items can be as deep as the schema; only short ones are followed.
                # A reference may lead back here.
                inner: Any = value
                for _ in range(_SHAPE_DEPTH):
                    if isinstance(inner, dict) and any(word in inner for word in REFERENCES):
                        return None
                    inner = inner.get("items") if isinstance(inner, dict) else None
                if isinstance(inner, dict):
                    return None
                shape.append((keyword, self.term(self.sites.child(site, "items")).uid))
            elif keyword not in _PLAIN or (isinstance(value, list) and len(value) > _SHAPE_VALUES):
                return None
            else:
                shape.append((keyword, repr(value)))
        return (strict, *shape)

    def child(self, site: Site, *tokens: object) -> Term:
        """The term of a subschema below ``site``."""
        schema = site.schema
        for token in tokens:
            schema = schema[token]
        if type(schema) is dict and not self.sites.relaxes and schema.keys() <= BARE_TYPE:
            # Most properties are a bare type: one term for all of them, and no site.
            shared = self._of_shape.get(
                (schema.get("type"), site.resource.dialect.strict_integer)
                if type(schema.get("type")) is str
                else None
            )
            if shared is not None:
                return shared
        return self.term(self.sites.child(site, *tokens))

    def constant(self, value: Any, near: Site, *tokens: object) -> Term:
        """The term of exactly one JSON value."""
        return self.term(self.sites.synthetic({"const": value}, near, *tokens))

    def conjoin(self, terms: Iterable[Term]) -> Term:
        """The intersection of terms."""
        literals: dict[Literal, None] = {}
        first: Term | None = None
        count = 0
        for term in terms:
            if term is FALSE:
                return FALSE
            if term is not TRUE and term is not first:
                first = first or term
                count += 1
                literals.update(dict.fromkeys(term.literals))
        if first is None:
            return TRUE
        if count == 1 or len(literals) == len(first.literals):
            return first
        key = tuple(sorted(literal.uid for literal in literals))
        found = self._terms.get(key)
        if found is None:
            found = FALSE if _is_contradictory(literals) else self._intern(tuple(literals))
            self._terms[key] = found
        return found

    def negate(self, term: Term) -> Term:
        """The complement of a term."""
        if term is TRUE:
            return FALSE
        if term is FALSE:
            return TRUE
        if len(term.literals) == 1 and isinstance(term.literals[0], Negation):
            return term.literals[0].term
        if term.negation is None:
            self._count += 1
            # Negations and sites are told apart by the sign of their numbers.
            term.negation = Negation(term, -self._count)
        return self._intern((term.negation,))

    def constants(self, term: Term) -> frozenset[Hashable] | None:
        """The only values that can be in a term, if it plainly lists them and all are scalars.

        Equal values are equal here, and no others are.
        """
        for literal in term.literals:
            if isinstance(literal, Site):
                values = _scalar_constants(literal.schema)
                if values is not None:
                    return frozenset(values)
        return None

    def _intern(self, literals: tuple[Literal, ...]) -> Term:
        key = tuple(sorted(literal.uid for literal in literals))
        found = self._terms.get(key)
        if found is None:
            self._count += 1
            found = Term(literals, self._count)
            self._terms[key] = found
            self.by_uid[found.uid] = found
        return found


def _is_negation(term: Term) -> bool:
    return term in (TRUE, FALSE) or isinstance(term.literals[0], Negation)


def _scalar_constants(schema: dict[str, Any]) -> SequenceOf[Hashable] | None:
    """The values of ``enum`` or ``const`` if all are scalars, equal if the values are."""
    values = schema.get("enum", (schema["const"],) if "const" in schema else None)
    if values is None:
        return None
    found: list[Hashable] = []
    for value in values:
        if isinstance(value, str | Fraction):
            found.append(value)
        elif value is None or isinstance(value, bool):
            found.append((value,))  # in Python, True equals 1
        elif isinstance(value, int):
            found.append(value)
        elif isinstance(value, float):
            found.append(exact(value))
        else:
            return None
    return found


def _is_contradictory(literals: dict[Literal, None]) -> bool:
    """A cheap test for conjunctions that hold for no value: types, constants, negations."""
    types: frozenset[str] | None = None
    tags: set[Hashable] | None = None
    for literal in literals:
        if isinstance(literal, Negation):
            if all(part in literals for part in literal.term.literals):
                return True
            continue
        schema = literal.schema
        own = schema.get("type")
        if own is not None:
            names = frozenset((own,)) if isinstance(own, str) else frozenset(own)
            if "number" in names:
                names |= {"integer"}
            types = names if types is None else types & names
            if not types:
                return True
        values = _scalar_constants(schema)
        if values is not None:
            tags = set(values) if tags is None else tags.intersection(values)
            if not tags:
                return True
    return False
