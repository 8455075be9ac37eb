"""Plain objects and arrays, straight from the text of a subschema to its expression.

Most subschemas of most schemas are an object with properties or an array of items, with nothing
applied in place and nothing counted. Their canonical form is what they say, so this writes the
rule that :mod:`.rules` would, without the form. Whatever is not plain gives ``None`` here, and
the general way decides.

Expressions that any schema may need (bare types, keys) are kept in the compiler's cache, so that
equal leaves are mostly one object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir import Chain, ChainItem, Expr, Ref, Repeat, Sequence, UndeclaredKey
from .normalize import Normalizer
from .quick_look import is_plainly_inhabited
from .sites import Site
from .terms import ASSERTIONS, BARE_TYPE
from .whitespace import Punctuation

if TYPE_CHECKING:
    from .object_rules import ObjectRules
    from .rules import Rules

__all__ = ["FEW_CONSTANTS", "PlainRules"]

FEW_CONSTANTS = 8
"""More constants than this become one trie-shaped lexeme."""

_BEYOND_OBJECTS = ASSERTIONS - {"type", "properties", "required", "additionalProperties"}
_BEYOND_ARRAYS = ASSERTIONS - {"type", "items", "minItems", "maxItems", "uniqueItems"}
_BARE_ENUM = BARE_TYPE | {"enum"}
_STRING_OR_NONE = ("string", None)
_COUNTS = (int, type(None))
_NOTHING = Sequence(())


class PlainRules:
    """Writes the rules of plain subschemas of one grammar."""

    def __init__(
        self, rules: Rules, objects: ObjectRules, normalizer: Normalizer, signs: Punctuation
    ) -> None:
        self._rules = rules
        self._objects = objects
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._signs = signs
        self._is_ordered = normalizer.options.property_order == "schema"
        # The texts of children are read here, so nothing may change their meaning.
        self._is_on = (
            normalizer.options.additional_properties == "schema"
            and not normalizer.algebra.sites.relaxes
        )

    def expression(self, site: Site) -> Expr | None:
        """The values of a subschema if it is plain and holds any, else ``None``."""
        schema = site.schema
        if not self._is_on or type(schema) is not dict:
            return None
        kind = schema.get("type")
        if kind == "object":
            if self._is_ordered and _BEYOND_OBJECTS.isdisjoint(schema):
                return self._object(site, schema)
        elif kind == "array" and _BEYOND_ARRAYS.isdisjoint(schema):
            return self._array(site, schema)
        return None

    def _value(self, site: Site, schema: Any, *tokens: object) -> Expr | None:
        """What a child contributes; ``None`` if it holds no value."""
        if type(schema) is dict:
            kind = schema.get("type")
            if type(kind) is str and schema.keys() <= BARE_TYPE:
                found = self._rules.scalar(kind, site.resource.dialect.strict_integer)
                if found is not None:
                    return found
            elif "enum" in schema and kind in _STRING_OR_NONE and schema.keys() <= _BARE_ENUM:
                values = schema["enum"]
                if 0 < len(values) <= FEW_CONSTANTS and all(type(v) is str for v in values):
                    return self._rules.constants(values)
            term = self._algebra.child(site, *tokens)
            if not is_plainly_inhabited(schema) and not self._normalizer.inhabited(term):
                return None
            return self._rules.reference(term)
        term = self._algebra.child(site, *tokens)
        return self._rules.reference(term) if self._normalizer.inhabited(term) else None

    def _object(self, site: Site, schema: dict[str, Any]) -> Expr | None:
        properties = schema.get("properties", {})
        required = frozenset(schema.get("required", ()))
        key_of, after = self._objects.key, self._signs.after_value
        items: list[ChainItem] = []
        for name, child in properties.items():
            value = self._value(site, child, "properties", name)
            needed = name in required
            if value is not None:
                key = key_of(name)
                parts = (*key, value) if after is None else (*key, value, after)
                items.append(ChainItem(Sequence(parts), needed))
            elif needed:
                return None
        additional = schema.get("additionalProperties", True)
        others: Expr | None = None
        if additional is True:
            others = Ref("value")
        elif additional is not False:
            others = self._value(site, additional, "additionalProperties")
        names = properties.keys()
        if not names >= required:
            if others is None:
                return None
            names = dict.fromkeys((*properties, *schema["required"])).keys()
            for name in names:
                if name not in properties:
                    key = key_of(name)
                    parts = (*key, others) if after is None else (*key, others, after)
                    items.append(ChainItem(Sequence(parts), True))
        rest: Expr | None = None
        if others is not None:
            parts = (UndeclaredKey(frozenset(names)), self._signs.colon, others)
            rest = Sequence(parts if after is None else (*parts, after))
        members = Chain(tuple(items), self._signs.comma, rest) if items or rest else _NOTHING
        return Sequence((self._signs.open_object, members, self._signs.close_object))

    def _array(self, site: Site, schema: dict[str, Any]) -> Expr | None:
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        items = schema.get("items", True)
        if isinstance(items, list) or type(low) is not int or type(high) not in _COUNTS:
            return None
        if high is not None and (high < low or high == 0):
            return None
        if schema.get("uniqueItems") and high != 1:
            return None
        value = Ref("value") if items is True else self._value(site, items, "items")
        if value is None:
            return None
        after = self._signs.after_value
        item = value if after is None else Sequence((value, after))
        return Sequence(
            (
                self._signs.open_array,
                Repeat(item, low, high, self._signs.comma),
                self._signs.close_array,
            )
        )
