"""What the keywords of one subschema say by themselves, as a canonical form.

Everything except what applies other subschemas to the same value (``allOf``, ``$ref``, ``not`` …):
types, bounds, constants, and properties and items, whose subschemas become terms unread. ``enum``
and ``const`` are exact sets here, so whatever stands beside them filters them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .algebra import Algebra, array_node
from .nodes import (
    ANY_ARRAY,
    ANY_OBJECT,
    EVERYTHING,
    FALSE,
    NOTHING,
    TRUE,
    ArrayNode,
    Count,
    Layer,
    Normal,
    ObjectNode,
    Term,
)
from .numbers import exact
from .options import JsonOptions
from .scalars import ANY_STRING, NUMBERS, LanguageKey, NumberPart, StringPart, number_parts, single
from .scan import TYPES
from .sites import Site

__all__ = [
    "ARRAYS",
    "OBJECTS",
    "STRINGS",
    "KeywordReader",
]

STRINGS = frozenset(("minLength", "maxLength", "pattern", "format"))
ARRAYS = frozenset(
    [
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "contains",
        "uniqueItems",
    ]
)
OBJECTS = frozenset(
    [
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "propertyNames",
        "minProperties",
        "maxProperties",
    ]
)


class KeywordReader:
    """Reads subschemas into canonical forms."""

    def __init__(self, algebra: Algebra, options: JsonOptions) -> None:
        self._algebra = algebra
        self._languages = algebra.languages
        self._options = options

    def read(self, site: Site) -> Normal:
        """What the keywords of a subschema say that apply nothing in place."""
        schema = site.schema
        if isinstance(schema, bool):
            return EVERYTHING if schema else NOTHING
        kinds = schema.get("type", TYPES)
        if isinstance(kinds, str):
            kinds = (kinds,)
        result: Normal | None = None
        if "const" in schema:
            result = self._constants(site, "const", (schema["const"],), kinds)
        if "enum" in schema:
            listed = self._constants(site, "enum", schema["enum"], kinds)
            result = listed if result is None else self._algebra.intersect(result, listed)
        if result is not None and (schema.keys().isdisjoint(NUMBERS | STRINGS | ARRAYS | OBJECTS)):
            return result
        numbers = number_parts(schema, kinds, strict=site.resource.dialect.strict_integer)
        strings: tuple[StringPart, ...] = ()
        if "string" in kinds:
            strings = (ANY_STRING,)
            if not STRINGS.isdisjoint(schema):
                strings = self.string_parts(schema)
        arrays: tuple[ArrayNode, ...] = ()
        if "array" in kinds:
            arrays = (ANY_ARRAY,)
            if not ARRAYS.isdisjoint(schema):
                arrays = self._array_nodes(site)
        objects: tuple[ObjectNode, ...] = ()
        if "object" in kinds:
            objects = (ANY_OBJECT,)
            if not OBJECTS.isdisjoint(schema):
                objects = self._object_nodes(site)
        boolean = "boolean" in kinds
        around = Normal("null" in kinds, boolean, boolean, numbers, strings, arrays, objects)
        return around if result is None else self._algebra.intersect(result, around)

    def string_parts(self, schema: dict[str, Any]) -> tuple[StringPart, ...]:
        languages: list[LanguageKey] = []
        if "pattern" in schema:
            languages.append(("pattern", schema["pattern"]))
        if "format" in schema and self._languages.is_known_format(schema["format"]):
            languages.append(("format", schema["format"]))
        low = int(schema.get("minLength", 0))
        high = schema.get("maxLength")
        if high is not None:
            high = int(high)
            if low > high:
                return ()
        return (StringPart(low, high, frozenset(languages)),)

    def _array_nodes(self, site: Site) -> tuple[ArrayNode, ...]:
        schema, algebra = site.schema, self._algebra
        prefix: tuple[Term, ...] = ()
        rest = TRUE
        items = schema.get("items")
        if isinstance(items, list):
            prefix = tuple(algebra.child(site, "items", i) for i in range(len(items)))
            if "additionalItems" in schema:
                rest = algebra.child(site, "additionalItems")
        else:
            if "prefixItems" in schema:
                count = len(schema["prefixItems"])
                prefix = tuple(algebra.child(site, "prefixItems", i) for i in range(count))
            if items is not None:
                rest = algebra.child(site, "items")
        low = int(schema.get("minItems", 0))
        high = schema.get("maxItems")
        high = None if high is None else int(high)
        counts: tuple[Count, ...] = ()
        if "contains" in schema:
            least, most = int(schema.get("minContains", 1)), schema.get("maxContains")
            if least > 0 or most is not None:
                most = None if most is None else int(most)
                counts = (Count(0, algebra.child(site, "contains"), least, most),)
                low = max(low, least)
        unique = schema.get("uniqueItems", False)
        return array_node(prefix, rest, low, high, counts, unique=unique)

    def _object_nodes(self, site: Site) -> tuple[ObjectNode, ...]:
        schema, algebra = site.schema, self._algebra
        layers: tuple[Layer, ...] = ()
        additional = TRUE
        if "additionalProperties" in schema:
            additional = algebra.child(site, "additionalProperties")
        patterns = tuple(
            (pattern, algebra.child(site, "patternProperties", pattern))
            for pattern in schema.get("patternProperties", ())
        )
        closing = self._options.additional_properties == "closed"
        if patterns or additional is not TRUE or (closing and "additionalProperties" in schema):
            layers = (Layer(patterns, additional),)
        named: dict[str, Term] = {}
        for name in schema.get("properties", ()):
            term = algebra.child(site, "properties", name)
            if patterns:
                matching = [t for p, t in patterns if self._languages.matches(p, name)]
                term = algebra.conjoin((term, *matching))
            named[name] = term
        required: frozenset[str] = frozenset()
        if "required" in schema:
            required = frozenset(schema["required"])
            for name in schema["required"]:
                if name not in named:
                    named[name] = algebra.of_layer(layers[0], name) if layers else TRUE
        high = schema.get("maxProperties")
        node = ObjectNode(
            named=tuple(named.items()),
            required=required,
            layers=layers,
            names=algebra.child(site, "propertyNames") if "propertyNames" in schema else TRUE,
            min=int(schema.get("minProperties", 0)),
            max=None if high is None else int(high),
            shut=closing
            and "properties" in schema
            and "additionalProperties" not in schema
            and "unevaluatedProperties" not in schema,
        )
        return algebra.resolved(node)

    def _constants(self, site: Site, keyword: str, values: Any, kinds: Any) -> Normal:
        """The values of ``enum`` or ``const`` whose type is one of ``kinds``."""
        strict = site.resource.dialect.strict_integer
        null = true = false = False
        strings: dict[str, None] = {}
        numbers: dict[Any, Any] = {}
        points: dict[NumberPart, None] = {}
        arrays: dict[ArrayNode, None] = {}
        objects: dict[ObjectNode, None] = {}
        for i, value in enumerate(values):
            if isinstance(value, str):
                strings[value] = None
            elif value is None:
                null = True
            elif value is True:
                true = True
            elif value is False:
                false = True
            elif isinstance(value, Fraction):
                # No schema has one; see :func:`.values.value_of`.
                points[NumberPart(within=single(value))] = None
            elif isinstance(value, (int, float)):
                number = exact(value)
                integral = isinstance(value, int) if strict else number.denominator == 1
                if "number" in kinds or ("integer" in kinds and integral):
                    numbers.setdefault(number, value)
            elif isinstance(value, list):
                terms = tuple(
                    self._algebra.constant(item, site, keyword, i, j)
                    for j, item in enumerate(value)
                )
                arrays[ArrayNode(terms, FALSE, len(terms), len(terms))] = None
            else:
                named = tuple(
                    (key, self._algebra.constant(item, site, keyword, i, key))
                    for key, item in value.items()
                )
                objects[ObjectNode(named, frozenset(value), (Layer((), FALSE),))] = None
        boolean = "boolean" in kinds
        return Normal(
            null and "null" in kinds,
            true and boolean,
            false and boolean,
            (*((NumberPart(values=tuple(numbers.values())),) if numbers else ()), *points),
            (StringPart(values=tuple(strings)),) if strings and "string" in kinds else (),
            tuple(arrays) if "array" in kinds else (),
            tuple(objects) if "object" in kinds else (),
        )
