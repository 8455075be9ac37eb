"""A quick check that everything reachable in a schema is well-formed and plain to enforce.

Nearly every schema is, and :mod:`.scan` needs a site for each subschema to say so. This check
walks the bare dicts instead and answers yes or "not plainly": it never errs with yes, names no
culprit and collects nothing. Where it does not say yes, the scan finds out, from the start.

Yes also means that nothing is *intricate* in the sense of the scan.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import GrammarError
from .languages import Languages
from .scan import TYPES
from .sites import Sites
from .terms import BARE_TYPE

__all__ = ["is_plainly_valid"]

_TYPES = frozenset(TYPES)
_NUMBER_TYPES = (int, float)

_ASK, _TYPE, _LIST, _NAMES, _NAMED, _PATTERNED, _SCHEMA, _ITEMS, _PREFIX = range(9)
_COUNT, _NUMBER, _DIVISOR, _PATTERN, _STRING, _ANY_OF, _ALL_OF, _REFERENCE, _UNIQUE = range(9, 18)

# What to do for each keyword that the scan looks at; all others are annotations to it.
_KINDS: dict[str, int] = {
    "type": _TYPE,
    "enum": _LIST,
    "required": _NAMES,
    "properties": _NAMED,
    "patternProperties": _PATTERNED,
    "additionalProperties": _SCHEMA,
    "additionalItems": _SCHEMA,
    "items": _ITEMS,
    "prefixItems": _PREFIX,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "multipleOf": _DIVISOR,
    "pattern": _PATTERN,
    "format": _STRING,
    "anyOf": _ANY_OF,
    "allOf": _ALL_OF,
    "$ref": _REFERENCE,
    "uniqueItems": _UNIQUE,
} | dict.fromkeys(
    [
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "contains",
        "minContains",
        "maxContains",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedItems",
        "unevaluatedProperties",
    ],
    _ASK,
)

_ENORMOUS = 1e300
"""Numbers below are certainly finite."""


def is_plainly_valid(sites: Sites, languages: Languages) -> bool:
    """Whether the scan would surely accept the schema and find nothing intricate in it."""
    root = sites.root
    if sites.relaxes or type(root.schema) is not dict:
        return False
    dialect = root.resource.dialect
    hides, unknown, identifier = dialect.ref_hides_siblings, dialect.unknown, dialect.id_keyword
    kinds = _KINDS
    pending: list[Any] = [root.schema]
    seen: set[int] = set()
    # Which subschemas each one imposes on the same value, by identity.
    imposed: dict[int, list[int]] = {}
    while pending:
        schema = pending.pop()
        if type(schema) is not dict:
            if type(schema) is not bool:
                return False
            continue
        here = id(schema)
        if here in seen:
            continue
        seen.add(here)
        if identifier in schema and schema is not root.schema:
            return False
        if not unknown.isdisjoint(schema):
            return False
        items: Iterable[tuple[str, Any]] = schema.items()
        if hides and "$ref" in schema:
            items = (("$ref", schema["$ref"]),)
        for keyword, value in items:
            kind = kinds.get(keyword)
            if kind is None:
                continue
            if kind == _TYPE:
                if type(value) is str:
                    if value not in _TYPES:
                        return False
                elif type(value) is not list or not all(
                    type(name) is str and name in _TYPES for name in value
                ):
                    return False
            elif kind == _NAMED:
                if type(value) is not dict:
                    return False
                for child in value.values():
                    if type(child) is not dict or not _is_bare(child):
                        pending.append(child)
            elif kind == _NAMES:
                if type(value) is not list or not all(type(name) is str for name in value):
                    return False
            elif kind == _ITEMS or kind == _SCHEMA:
                if type(value) is not list:
                    pending.append(value)
                elif kind == _SCHEMA:
                    return False
                else:
                    pending.extend(value)
            elif kind == _LIST:
                if type(value) is not list:
                    return False
            elif kind == _STRING:
                if type(value) is not str:
                    return False
            elif kind == _COUNT:
                if type(value) is not int or value < 0:
                    return False
            elif kind == _NUMBER or kind == _DIVISOR:
                if type(value) not in _NUMBER_TYPES or not -_ENORMOUS < value < _ENORMOUS:
                    return False
                if kind == _DIVISOR and value <= 0:
                    return False
            elif kind == _PATTERN:
                if type(value) is not str or not languages.is_valid(value):
                    return False
            elif kind == _PATTERNED:
                if type(value) is not dict or not all(map(languages.is_valid, value)):
                    return False
                pending.extend(value.values())
            elif kind == _REFERENCE:
                if type(value) is not str or value[:1] != "#":
                    return False
                try:
                    target = sites.resolve(root, value).schema
                except GrammarError:
                    return False
                pending.append(target)
                imposed.setdefault(here, []).append(id(target))
            elif kind == _ANY_OF or kind == _ALL_OF or kind == _PREFIX:
                if type(value) is not list or (not value and kind != _PREFIX):
                    return False
                pending.extend(value)
                # A branch of anyOf that leads back adds nothing, so that is no loop.
                if kind == _ALL_OF:
                    imposed.setdefault(here, []).extend(map(id, value))
            elif kind != _UNIQUE or value is not False:
                return False
    return not imposed or _is_acyclic(imposed)


def _is_bare(schema: dict[str, Any]) -> bool:
    """Whether there is nothing but a well-formed type and annotations, as in most properties."""
    return schema.keys() <= BARE_TYPE and schema.get("type", "object") in TYPES


def _is_acyclic(edges: dict[int, list[int]]) -> bool:
    """Whether no subschema imposes itself."""
    done: set[int] = set()
    for start in edges:
        if start in done:
            continue
        path = {start}
        stack = [(start, iter(edges[start]))]
        while stack:
            node, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                stack.pop()
                path.discard(node)
                done.add(node)
            elif target in path:
                return False
            elif target in edges and target not in done:
                path.add(target)
                stack.append((target, iter(edges[target])))
    return True
