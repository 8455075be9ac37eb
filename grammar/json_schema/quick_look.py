"""A quick look at whether a subschema holds any value.

Nearly all do, and plainly so. This test never errs with yes, needs no canonical form and looks
at the text of the schema only; where it says no, :mod:`.normalize` finds out.
"""

from __future__ import annotations

from typing import Any

from .algebra import Algebra
from .keywords import STRINGS, KeywordReader
from .nodes import FALSE, NOTHING, TRUE, Negation, Term
from .scalars import NUMBERS
from .sites import Site
from .terms import ASSERTIONS, IN_PLACE

__all__ = ["QuickLook", "is_plainly_inhabited"]

_DEPTH = 24
"""Required properties are followed so deep."""

# Beside a type, nothing else can keep a subschema from holding a value of that type.
_DOUBTS = (
    IN_PLACE
    | NUMBERS
    | {"enum", "const", "minLength", "maxLength", "pattern", "minItems", "contains"}
    | {"minProperties", "required"}
)


def is_plainly_inhabited(schema: dict[str, Any]) -> bool:
    """Whether a well-formed subschema has a type and nothing that could exclude its values."""
    kind = schema.get("type")
    return type(kind) is str and _DOUBTS.isdisjoint(schema)


def _lists_a_string(schema: dict[str, Any]) -> bool:
    """Whether an ``enum`` with nothing but a type beside it has a string that the type allows."""
    values = schema.get("enum", ())
    return (
        bool(values)
        and type(values[0]) is str
        and "const" not in schema
        and schema.get("type", "string") == "string"
    )


class QuickLook:
    """Remembers the answers for the terms of one algebra."""

    def __init__(self, algebra: Algebra, reader: KeywordReader) -> None:
        self._algebra = algebra
        self._languages = algebra.languages
        self._reader = reader
        self._known: dict[Term, bool] = {TRUE: True, FALSE: False}

    def is_inhabited(self, term: Term) -> bool:
        """A quick look that never errs with yes and needs no normal form."""
        found = self._known.get(term)
        if found is None:
            found = self._at(term, 0)
        return found

    def _at(self, term: Term, depth: int) -> bool:
        found = self._known.get(term)
        if found is not None:
            return found
        if len(term.literals) == 1:
            (site,) = term.literals
            if isinstance(site, Site) and is_plainly_inhabited(site.schema):
                self._known[term] = True
                return True
        self._known[term] = False  # while it is open, and if it is too deep
        if len(term.literals) != 1 or depth > _DEPTH:
            return False
        (site,) = term.literals
        if isinstance(site, Negation):
            return False
        schema = site.schema
        found = False
        if not IN_PLACE.isdisjoint(schema):
            if "anyOf" in schema and len(ASSERTIONS.intersection(schema)) == 1:
                found = any(
                    self._at(self._algebra.child(site, "anyOf", i), depth + 1)
                    for i in range(len(schema["anyOf"]))
                )
        elif "enum" in schema or "const" in schema:
            plain = ASSERTIONS.intersection(schema) <= {"enum", "const", "type"}
            found = plain and (_lists_a_string(schema) or self._reader.read(site) != NOTHING)
        else:
            kinds = schema.get("type", "null")
            for kind in (kinds,) if isinstance(kinds, str) else kinds:
                if self._type(site, kind, depth):
                    found = True
                    break
        self._known[term] = found
        return found

    def _type(self, site: Site, kind: str, depth: int) -> bool:
        schema = site.schema
        if kind in ("null", "boolean"):
            return True
        if kind == "string":
            if STRINGS.isdisjoint(schema):
                return True
            return any(
                self._languages.has_string(part) for part in self._reader.string_parts(schema)
            )
        if kind in ("number", "integer"):
            return NUMBERS.isdisjoint(schema)
        if kind == "array":
            low = schema.get("minItems", 0)
            if "contains" in schema or (low > 1 and schema.get("uniqueItems")):
                return False
            if low == 0:
                return True
            high = schema.get("maxItems", low)
            items = schema.get("items", True)
            return (
                low <= high
                and "prefixItems" not in schema
                and not isinstance(items, list)
                and (items is True or self._at(self._algebra.child(site, "items"), depth + 1))
            )
        if "minProperties" in schema:
            return False
        required = schema.get("required", ())
        if not required:
            return True
        if len(schema.keys() & {"patternProperties", "propertyNames"}) > 0:
            return False
        if len(required) > schema.get("maxProperties", len(required)):
            return False
        properties = schema.get("properties", {})
        additional = schema.get("additionalProperties", True)
        for name in required:
            if name in properties:
                child = properties[name]
                if type(child) is dict and is_plainly_inhabited(child):
                    continue
                if not self._at(self._algebra.child(site, "properties", name), depth + 1):
                    return False
            elif additional is not True and not self._at(
                self._algebra.child(site, "additionalProperties"), depth + 1
            ):
                return False
        return True
