"""A quick check that everything reachable in a schema is well-formed and can be enforced.

Nearly every schema is, and :mod:`.scan` needs a site for each subschema to say so. This check
walks the bare dicts instead and answers "yes" or "not plainly": it never errs with yes and names
no culprit. Where it does not say yes, the scan finds out, from the start.

With a yes it gives the intricate value sites that the scan would have found, in the same order.
Subschemas are told apart by the identity of their dicts, as sites are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ...errors import GrammarError
from .languages import Languages
from .scan import INTRICATE, TYPES, with_users
from .sites import Site, Sites
from .terms import BARE_TYPE

__all__ = ["quick_check"]

_TYPES = frozenset(TYPES)
_NUMBER_TYPES = (int, float)
_SEQUENCES = (list, tuple)

_Origin: TypeAlias = tuple[Any, ...]
"""Identity of the dict that a subschema stands in, and the path from there."""

_ASK, _TYPE, _LIST, _NAMES, _NAMED, _PATTERNED, _SCHEMA, _ITEMS, _PREFIX = range(9)
_COUNT, _NUMBER, _DIVISOR, _PATTERN, _STRING, _BRANCHES, _IN_PLACE, _REFERENCE = range(9, 17)
_UNIQUE, _LENGTH = 17, 18

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
    "minLength": _LENGTH,
    "maxLength": _LENGTH,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "multipleOf": _DIVISOR,
    "pattern": _PATTERN,
    "format": _STRING,
    "anyOf": _BRANCHES,
    "allOf": _BRANCHES,
    "oneOf": _BRANCHES,
    "not": _IN_PLACE,
    "if": _IN_PLACE,
    "then": _IN_PLACE,
    "else": _IN_PLACE,
    "propertyNames": _IN_PLACE,
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "$ref": _REFERENCE,
    "uniqueItems": _UNIQUE,
} | dict.fromkeys(
    [
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "contains",
        "minContains",
        "maxContains",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedItems",
        "unevaluatedProperties",
    ],
    _ASK,
)

_APPLIED = frozenset(k for k, kind in _KINDS.items() if kind in (_BRANCHES, _IN_PLACE))

_ENORMOUS = 1e300
"""Numbers below are certainly finite."""


def quick_check(sites: Sites, languages: Languages) -> list[Site] | None:
    """The intricate value sites if the scan would surely accept the schema, else ``None``."""
    root = sites.root
    if sites.relaxes or type(root.schema) is not dict:
        return None
    dialect = root.resource.dialect
    hides, unknown, identifier = dialect.ref_hides_siblings, dialect.unknown, dialect.id_keyword
    kinds = _KINDS
    pending: list[Any] = [root.schema]
    seen = {id(root.schema)}
    origins: dict[int, _Origin] = {}
    targets: dict[int, Site] = {id(root.schema): root}
    intricate: list[int] = []
    # By which subschemas each one is applied in place; ``imposed_by``: but for ``anyOf``.
    applied_by: dict[int, list[int]] = {}
    imposed_by: dict[int, list[int]] = {}
    while pending:
        schema = pending.pop()
        if type(schema) is not dict:
            if type(schema) is not bool:
                return None
            continue
        here = id(schema)
        before = len(pending)
        if identifier in schema and schema is not root.schema:
            return None
        if not unknown.isdisjoint(schema):
            return None
        items: Iterable[tuple[str, Any]] = schema.items()
        if hides and "$ref" in schema:
            items = (("$ref", schema["$ref"]),)
        elif not INTRICATE.isdisjoint(schema):
            intricate.append(here)
        for keyword, value in items:
            kind = kinds.get(keyword)
            if kind is None:
                continue
            if kind == _TYPE:
                if type(value) is str:
                    if value not in _TYPES:
                        return None
                elif type(value) is not list or not all(
                    type(name) is str and name in _TYPES for name in value
                ):
                    return None
            elif kind == _NAMED:
                if type(value) is not dict:
                    return None
                for name, child in value.items():
                    if type(child) is not dict or not _is_bare(child):
                        pending.append(child)
                        origins[id(child)] = (here, keyword, name)
            elif kind == _NAMES:
                if type(value) is not list or not all(type(name) is str for name in value):
                    return None
            elif kind == _SCHEMA or (kind == _ITEMS and type(value) is not list):
                pending.append(value)
                origins[id(value)] = (here, keyword)
            elif kind in (_ITEMS, _PREFIX):
                if type(value) is not list:
                    return None
                for i, child in enumerate(value):
                    pending.append(child)
                    origins[id(child)] = (here, keyword, i)
            elif kind == _LIST:
                if type(value) is not list:
                    return None
            elif kind == _STRING:
                if type(value) is not str:
                    return None
            elif kind == _COUNT:
                if type(value) is not int or value < 0:
                    return None
            elif kind == _LENGTH:
                if type(value) is not int or value < 0:
                    return None
                if not languages.is_manageable(schema):
                    return None
            elif kind in (_NUMBER, _DIVISOR):
                if type(value) not in _NUMBER_TYPES or not -_ENORMOUS < value < _ENORMOUS:
                    return None
                if kind == _DIVISOR and (value <= 0 or not languages.is_simple_step(value)):
                    return None
            elif kind == _PATTERN:
                if type(value) is not str or not languages.is_valid(value):
                    return None
            elif kind == _PATTERNED:
                if type(value) is not dict or not all(map(languages.is_valid, value)):
                    return None
                for name, child in value.items():
                    pending.append(child)
                    origins[id(child)] = (here, keyword, name)
            elif kind == _REFERENCE:
                if type(value) is not str or value[:1] != "#":
                    return None
                try:
                    target = sites.resolve(root, value)
                except GrammarError:
                    return None
                child = target.schema
                targets[id(child)] = target
                pending.append(child)
                applied_by.setdefault(id(child), []).append(here)
                imposed_by.setdefault(id(child), []).append(here)
            elif kind in (_BRANCHES, _IN_PLACE):
                branches = value if kind == _BRANCHES else (value,)
                if type(branches) not in _SEQUENCES or not branches:
                    return None
                for i, child in enumerate(branches):
                    pending.append(child)
                    # Where a dict stands twice, a position of a whole value counts.
                    path = (here, keyword, i) if kind == _BRANCHES else (here, keyword)
                    origins.setdefault(id(child), path)
                    applied_by.setdefault(id(child), []).append(here)
                    # A branch of anyOf that leads back adds nothing, so that is no loop.
                    if keyword != "anyOf":
                        imposed_by.setdefault(id(child), []).append(here)
            elif kind == _UNIQUE and type(value) is bool:
                sites.has_unique |= value
            else:
                return None
        if len(pending) > before:
            fresh = [child for child in pending[before:] if id(child) not in seen]
            seen.update(map(id, fresh))
            fresh.reverse()
            pending[before:] = fresh
    if imposed_by and not _is_acyclic(imposed_by):
        return None
    if not intricate:
        return []
    found: list[Site] = []
    for at in with_users(intricate, applied_by):
        origin = origins.get(at)
        if at == id(root.schema) or (origin is not None and origin[1] not in _APPLIED):
            found.append(_site(sites, at, origins, targets))
    return found


def _site(sites: Sites, at: int, origins: dict[int, _Origin], targets: dict[int, Site]) -> Site:
    """The site of a dict that was met."""
    path: list[Iterable[object]] = []
    while at not in targets:
        at, *tokens = origins[at]
        path.append(tokens)
    site = targets[at]
    for step in reversed(path):
        site = sites.child(site, *step)
    return site


def _is_bare(schema: dict[str, Any]) -> bool:
    """Whether there is nothing but a well-formed type and annotations, as in most properties."""
    return schema.keys() <= BARE_TYPE and schema.get("type", "object") in TYPES


def _is_acyclic(edges: dict[int, list[int]]) -> bool:
    """Whether no subschema is imposed on a value by itself."""
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
