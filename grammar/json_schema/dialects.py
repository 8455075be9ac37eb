"""The drafts of JSON Schema: which keywords each knows, and what ``$schema`` selects.

A keyword that a draft does not know is an annotation there. Without ``$schema`` the text is
read as 2020-12 plus the older forms that it cannot mean otherwise (array-form ``items`` with
``additionalItems``, boolean ``exclusiveMinimum``, ``dependencies``): schemas in the wild rarely
name their draft, and dropping a constraint silently is the one thing not to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["EVERY_KEYWORD", "LENIENT", "Dialect", "dialect_of"]

_DRAFT4 = frozenset(
    [
        "type",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "items",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "enum",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minProperties",
        "maxProperties",
        "dependencies",
        "$ref",
    ]
)
_DRAFT6 = _DRAFT4 | {"const", "contains", "propertyNames"}
_DRAFT7 = _DRAFT6 | {"if", "then", "else"}
_DRAFT2019 = (_DRAFT7 - {"dependencies"}) | frozenset(
    [
        "dependentRequired",
        "dependentSchemas",
        "minContains",
        "maxContains",
        "unevaluatedItems",
        "unevaluatedProperties",
        "$anchor",
        "$recursiveRef",
    ]
)
_DRAFT2020 = (_DRAFT2019 - {"additionalItems", "$recursiveRef"}) | frozenset(
    ("prefixItems", "$dynamicRef")
)
EVERY_KEYWORD = _DRAFT2020 | _DRAFT2019 | _DRAFT7
"""The assertions and applicators of all drafts."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to read a schema.

    Attributes:
        keywords: the assertions and applicators it knows.
        unknown: those of other drafts, annotations here.
        id_keyword: what names a resource.
        ref_hides_siblings: ``$ref`` makes every other keyword beside it an annotation.
        strict_integer: ``1.0`` is not an integer (draft 4 only).
        contains_evaluates: ``unevaluatedItems`` spares what ``contains`` found.
        boolean_exclusive: ``exclusiveMinimum`` modifies ``minimum`` (``None``: either form).
    """

    name: str
    keywords: frozenset[str]
    id_keyword: str
    ref_hides_siblings: bool
    strict_integer: bool
    boolean_exclusive: bool | None
    contains_evaluates: bool = True
    unknown: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unknown", EVERY_KEYWORD - self.keywords)


_DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("draft-04", _DRAFT4, "id", True, True, True),
        Dialect("draft-06", _DRAFT6, "$id", True, False, False),
        Dialect("draft-07", _DRAFT7, "$id", True, False, False),
        Dialect("draft/2019-09", _DRAFT2019, "$id", False, False, False, contains_evaluates=False),
        Dialect("draft/2020-12", _DRAFT2020, "$id", False, False, False),
    )
}

_BY_URI = tuple((f"json-schema.org/{name}/schema", d) for name, d in _DIALECTS.items())

LENIENT = Dialect(
    "unnamed",
    EVERY_KEYWORD,
    "$id",
    ref_hides_siblings=False,
    strict_integer=False,
    boolean_exclusive=None,
)
"""How a schema without ``$schema`` is read."""


def dialect_of(schema: Any, default: Dialect = LENIENT) -> Dialect:
    """The dialect that a resource's ``$schema`` names; unknown ones leave the default."""
    if not isinstance(schema, dict):
        return default
    uri = schema.get("$schema")
    if not isinstance(uri, str):
        return default
    for name, dialect in _BY_URI:
        if name in uri:
            return dialect
    return default
