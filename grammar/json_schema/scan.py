"""The eager pass: is every reachable keyword well formed, and can it be enforced at all?

Everything else in this package is lazy, so errors must be found here, before anything is
generated. The scan walks subschema positions and references only, so a property named
``required`` is a property, and what no reference reaches may be anything. It does a constant
amount of work per keyword; patterns are parsed (their automata are built later).

It also collects the *intricate* value sites: subschemas of a whole value (the root, a property,
an item …) that have, or apply in place, a keyword which the algebra may fail to express (``not``,
``oneOf``, ``if`` …). The caller normalises these up front, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar

from ...errors import GrammarError, LimitError
from .languages import Languages
from .scalars import NUMBERS
from .sites import Site, Sites, escape_token

__all__ = ["INTRICATE", "TYPES", "Scan", "refers_to_itself", "scan", "with_users"]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

_TYPE_SET = frozenset(TYPES)
_PLAIN_KEYS = frozenset(
    ["type", "enum", "format", "title", "description", "default", "examples", "example"]
)
INTRICATE = frozenset(
    [
        "oneOf",
        "not",
        "if",
        "contains",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
"""Keywords that make a subschema intricate."""

_NO_VALUES: list[Any] = []

N = TypeVar("N", bound=Hashable)

_Check: TypeAlias = Callable[["Scan", Site, str, Any], None]


def scan(sites: Sites, languages: Languages) -> list[Site]:
    """Check what is reachable from the root; return the intricate sites among it.

    Raises:
        GrammarError: a malformed keyword or a reference without a target, with its pointer.
        UnsupportedSchemaError: a dynamic reference that means several things.
    """
    walk = Scan(sites, languages)
    walk.run(sites.root)
    walk.check_loops()
    return walk.intricate_values()


class Scan:
    """The walk.

    Args:
        sites: the schema.
        languages: parses its patterns.
        errors: where to put errors, all of them; ``None``: the first one is raised.

    Attributes:
        seen: the sites reached.
        applied_by: for a site that others apply in place, those others.
        imposed_by: the same without branches of ``anyOf``.
        values: sites in the position of a whole value.
    """

    __slots__ = (
        "applied_by",
        "errors",
        "imposed_by",
        "intricate",
        "languages",
        "pending",
        "seen",
        "sites",
        "skips_plain",
        "values",
    )

    def __init__(
        self,
        sites: Sites,
        languages: Languages,
        errors: list[tuple[Site, str | None, GrammarError | LimitError]] | None = None,
    ) -> None:
        self.sites = sites
        self.languages = languages
        self.errors = errors
        self.seen: dict[Site, None] = {}
        self.pending: list[Site] = []
        self.intricate: list[Site] = []
        self.applied_by: dict[Site, list[Site]] = {}
        self.imposed_by: dict[Site, list[Site]] = {}
        self.values: set[Site] = {sites.root}
        self.skips_plain = errors is None and not sites.relaxes

    def run(self, root: Site) -> None:
        pending = self.pending
        seen = self.seen
        seen[root] = None
        pending.append(root)
        checks = _CHECKS
        while pending:
            site = pending.pop()
            schema = site.schema
            if isinstance(schema, dict):
                before = len(pending)
                for keyword, value in schema.items():
                    check = checks.get(keyword)
                    if check is not None:
                        try:
                            check(self, site, keyword, value)
                        except (GrammarError, LimitError) as error:
                            self._found(site, keyword, error)
                if not INTRICATE.isdisjoint(schema):
                    self.intricate.append(site)
                if len(pending) > before:
                    fresh = [child for child in pending[before:] if child not in seen]
                    seen.update(dict.fromkeys(fresh))
                    # Reversed: errors are reported in the order of the text.
                    pending[before:] = reversed(fresh)
            elif not isinstance(schema, bool):
                what = f"a schema is an object or a boolean, not {_name_of(schema)}"
                self._found(site, None, GrammarError(what, pointer=site.pointer))

    def _found(self, site: Site, keyword: str | None, error: GrammarError | LimitError) -> None:
        if self.errors is None:
            raise error
        self.errors.append((site, keyword, error))

    def visit(self, site: Site, *tokens: object) -> None:
        """Go to a subschema for values of their own: properties, items."""
        child = self.sites.child(site, *tokens)
        self.pending.append(child)
        self.values.add(child)

    def apply(self, site: Site, child: Site, keyword: str) -> None:
        """Go to a subschema that ``site`` applies to the same value."""
        self.pending.append(child)
        self.applied_by.setdefault(child, []).append(site)
        # A branch of anyOf that leads back adds nothing, so that is no loop.
        if keyword != "anyOf":
            self.imposed_by.setdefault(child, []).append(site)

    def check_loops(self) -> None:
        """Raise if some site applies itself in place, through references and applicators."""
        done: set[Site] = set()
        for start in self.imposed_by:
            if start in done:
                continue
            # Depth first along "is applied by"; ``path`` is what is open.
            path = {start}
            stack = [(start, iter(self.imposed_by.get(start, ())))]
            while stack:
                site, users = stack[-1]
                user = next(users, None)
                if user is None:
                    stack.pop()
                    path.discard(site)
                    done.add(site)
                elif user in path:
                    raise refers_to_itself(user)
                elif user not in done:
                    path.add(user)
                    stack.append((user, iter(self.imposed_by.get(user, ()))))

    def intricate_values(self) -> list[Site]:
        users = with_users(self.intricate, self.applied_by)
        return [site for site in users if site in self.values]


def with_users(intricate: list[N], applied_by: dict[N, list[N]]) -> list[N]:
    """What is intricate, and what applies that in place, through any number of steps."""
    pending = list(intricate)
    seen = set(pending)
    found: list[N] = []
    while pending:
        node = pending.pop()
        found.append(node)
        for user in applied_by.get(node, ()):
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return found


def refers_to_itself(site: Site | None) -> GrammarError:
    """The error for a schema that is applied to a value in order to apply it to that value."""
    return GrammarError(
        "the schema refers to itself before any property or item, so it says nothing; "
        "remove the reference",
        pointer=site.pointer if site is not None else "#",
    )


def _name_of(value: Any) -> str:
    for kind, name in (
        (bool, "a boolean"),
        (str, "a string"),
        (int, "a number"),
        (float, "a number"),
        (list, "an array"),
        (dict, "an object"),
    ):
        if isinstance(value, kind):
            return f"{name} ({value!r:.60})"
    return "null" if value is None else f"a Python {type(value).__name__}"


def _malformed(site: Site, keyword: str, value: Any, expected: str) -> GrammarError:
    return GrammarError(
        f"{keyword} must be {expected}, not {_name_of(value)}",
        pointer=f"{site.pointer}/{escape_token(keyword)}",
    )


def is_number(value: Any) -> bool:
    """A JSON number (``True`` is not one, neither are infinities)."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and value - value == 0  # neither infinite nor NaN
    )


def _count(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not is_number(value) or value < 0 or value != int(value):
        raise _malformed(site, keyword, value, "a non-negative integer")


def _length(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    _count(walk, site, keyword, value)
    schema = site.schema
    # Malformed neighbours are errors of their own.
    if (
        all(is_number(schema.get(other, 0)) for other in ("minLength", "maxLength"))
        and isinstance(schema.get("pattern", ""), str)
        and isinstance(schema.get("format", ""), str)
    ):
        if "pattern" in schema:
            walk.languages.parse(schema["pattern"], site, ("pattern",))
        walk.languages.examine(schema)


def _number(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not is_number(value):
        raise _malformed(site, keyword, value, "a number")


def _divisor(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not is_number(value) or value <= 0:
        raise _malformed(site, keyword, value, "a number greater than 0")
    schema = site.schema
    # Malformed neighbours are errors of their own.
    bounds = [schema[other] for other in NUMBERS if other in schema]
    if isinstance(schema.get("type", ""), str | list) and all(
        isinstance(bound, bool) or is_number(bound) for bound in bounds
    ):
        walk.languages.examine_numbers(schema, strict=site.resource.dialect.strict_integer)


def _exclusive(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    boolean = site.resource.dialect.boolean_exclusive
    if isinstance(value, bool):
        if boolean is False:
            raise _malformed(site, keyword, value, "a number in this draft")
    elif boolean:
        raise _malformed(site, keyword, value, "a boolean in draft 4")
    else:
        _number(walk, site, keyword, value)


def _boolean(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise _malformed(site, keyword, value, "a boolean")


def _unique(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    _boolean(walk, site, keyword, value)
    walk.sites.has_unique |= value


def _type(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if name not in TYPES:
            raise GrammarError(
                f"unknown type {name!r:.60}; write one of {', '.join(TYPES)}",
                pointer=f"{site.pointer}/type",
            )


def _pattern(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _malformed(site, keyword, value, "a string (a regular expression)")
    walk.languages.parse(value, site, (keyword,))


def _string(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _malformed(site, keyword, value, "a string")


def _list(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, list):
        raise _malformed(site, keyword, value, "an array of values")


def _names(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _malformed(site, keyword, value, "an array of property names")


def _schema(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    walk.visit(site, keyword)


def _in_place(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    walk.apply(site, walk.sites.child(site, keyword), keyword)


def _schemas(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, list) or not value:
        raise _malformed(site, keyword, value, "a non-empty array of schemas")
    for i in range(len(value)):
        walk.apply(site, walk.sites.child(site, keyword, i), keyword)


def _items(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if isinstance(value, list):
        for i in range(len(value)):
            walk.visit(site, keyword, i)
    elif not (walk.skips_plain and type(value) is dict and _is_plain(value)):
        walk.visit(site, keyword)


def _prefix(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, list):
        raise _malformed(site, keyword, value, "an array of schemas")
    for i in range(len(value)):
        walk.visit(site, keyword, i)


def _named(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise _malformed(site, keyword, value, "an object of schemas")
    for name, schema in value.items():
        if not (walk.skips_plain and type(schema) is dict and _is_plain(schema)):
            walk.visit(site, keyword, name)


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether a subschema is a bare well-formed type, as most are: nothing to go there for."""
    return (
        schema.keys() <= _PLAIN_KEYS
        and type(schema.get("type")) is str
        and schema["type"] in _TYPE_SET
        and type(schema.get("enum", _NO_VALUES)) is list
        and type(schema.get("format", "")) is str
    )


def _pattern_named(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    _named(walk, site, keyword, value)
    for pattern in value:
        walk.languages.parse(pattern, site, (keyword, pattern))


def _dependencies(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise _malformed(site, keyword, value, "an object")
    for name, needed in value.items():
        if isinstance(needed, list):
            if not all(isinstance(other, str) for other in needed):
                raise _malformed(site, keyword, needed, "lists of property names")
        elif keyword == "dependentRequired":
            raise _malformed(site, keyword, needed, "lists of property names")
        else:
            walk.apply(site, walk.sites.child(site, keyword, name), keyword)


def _dependent(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise _malformed(site, keyword, value, "an object of schemas")
    for name in value:
        walk.apply(site, walk.sites.child(site, keyword, name), keyword)


def _reference(walk: Scan, site: Site, keyword: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _malformed(site, keyword, value, "a string (a URI reference)")
    walk.apply(site, walk.sites.resolve(site, value, keyword), keyword)


_CHECKS: dict[str, _Check] = {
    "type": _type,
    "enum": _list,
    "required": _names,
    "properties": _named,
    "patternProperties": _pattern_named,
    "additionalProperties": _schema,
    "propertyNames": _in_place,
    "minProperties": _count,
    "maxProperties": _count,
    "dependencies": _dependencies,
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependent,
    "items": _items,
    "prefixItems": _prefix,
    "additionalItems": _schema,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _unique,
    "contains": _schema,
    "minContains": _count,
    "maxContains": _count,
    "minLength": _length,
    "maxLength": _length,
    "pattern": _pattern,
    "format": _string,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _exclusive,
    "exclusiveMaximum": _exclusive,
    "multipleOf": _divisor,
    "allOf": _schemas,
    "anyOf": _schemas,
    "oneOf": _schemas,
    "not": _in_place,
    "if": _in_place,
    "then": _in_place,
    "else": _in_place,
    "$ref": _reference,
    "$dynamicRef": _reference,
    "$recursiveRef": _reference,
    "unevaluatedItems": _schema,
    "unevaluatedProperties": _schema,
}
