"""What the author of a subschema probably did not mean, and what the specification ignores.

Looks at one subschema as it is written, and only at its keywords: nothing here is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from ..report import Finding, Severity, Status
from .dialects import EVERY_KEYWORD
from .formats import FORMATS
from .keywords import ARRAYS, OBJECTS, STRINGS
from .scalars import NUMBERS
from .scan import TYPES
from .sites import Site, escape_token

__all__ = ["advice"]

_DESCRIPTIONS = frozenset(
    [
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$defs",
        "definitions",
        "$comment",
        "$vocabulary",
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
    ]
)
"""Keywords that say nothing about values."""

_CONTENT = frozenset(("contentEncoding", "contentMediaType", "contentSchema"))

_FOR_TYPE = {
    keyword: kinds
    for keywords, kinds in (
        (NUMBERS, frozenset(("number", "integer"))),
        (STRINGS, frozenset(("string",))),
        (ARRAYS | {"minContains", "maxContains", "unevaluatedItems"}, frozenset(("array",))),
        (
            OBJECTS
            | {"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties"},
            frozenset(("object",)),
        ),
    )
    for keyword in keywords
}
"""The types of the values that a keyword speaks about."""

_NEEDS = {
    "then": ("if",),
    "else": ("if",),
    "minContains": ("contains",),
    "maxContains": ("contains",),
    "additionalItems": ("items",),
}
"""Keywords that say nothing without another one."""

_EXTENSIONS = ("x-", "_")
"""What the names begin with that tools and authors make up on purpose."""

_CLOSE = 0.75
"""Similarity of two words, of 1, from which one is taken for a misspelling of the other."""


def advice(site: Site, *, asserts_formats: bool) -> Iterator[Finding]:
    """Typos, keywords without effect and keywords that are not enforced, of one subschema."""
    written = site.written
    if not isinstance(written, dict):
        return
    dialect = site.resource.dialect
    hidden = dialect.ref_hides_siblings and isinstance(written.get("$ref"), str)
    kinds = written.get("type", TYPES)
    kinds = {kinds} if isinstance(kinds, str) else set(_strings(kinds))
    for keyword, value in written.items():
        if keyword in _DESCRIPTIONS:
            continue
        if hidden and keyword != "$ref":
            if keyword in EVERY_KEYWORD:
                message = f"beside $ref, {dialect.name} ignores it; put both into an allOf"
                yield _finding(site, "ignored", keyword, message)
        elif keyword in dialect.keywords:
            yield from _of_known(site, keyword, value, kinds, asserts_formats)
        elif keyword in EVERY_KEYWORD:
            message = f"{dialect.name} has no such keyword; name another draft in $schema"
            yield _finding(site, "ignored", keyword, message)
        elif keyword in _CONTENT:
            yield _finding(site, "ignored", keyword, "an annotation", is_info=True)
        else:
            meant = None
            if not keyword.startswith(_EXTENSIONS):
                meant = _meant(keyword, dialect.keywords | _DESCRIPTIONS)
            if meant is None or meant in written:
                yield _finding(site, "ignored", keyword, "an unknown keyword", is_info=True)
            else:
                message = f"an unknown keyword, so it is ignored; did you mean {meant}?"
                yield _finding(site, "typo", keyword, message)


def _of_known(
    site: Site, keyword: str, value: Any, kinds: set[str], asserts_formats: bool
) -> Iterator[Finding]:
    written = site.written
    spoken_of = _FOR_TYPE.get(keyword)
    if spoken_of is not None and kinds and spoken_of.isdisjoint(kinds):
        message = f"has no effect on values of type {', '.join(sorted(kinds))}"
        yield _finding(site, "idle", keyword, message)
    elif keyword in _NEEDS and not any(other in written for other in _NEEDS[keyword]):
        needed = " or ".join(_NEEDS[keyword])
        yield _finding(site, "idle", keyword, f"has no effect without {needed}")
    elif keyword == "format" and isinstance(value, str):
        if value in FORMATS:
            if not asserts_formats:
                message = "an annotation, as formats='annotate' asks"
                yield _finding(site, "relaxed", keyword, message)
        elif (meant := _meant(value, FORMATS)) is not None:
            message = f"format {value!r} is unknown, so it is ignored; did you mean {meant!r}?"
            yield _finding(site, "typo", keyword, message)
        else:
            message = f"format {value!r} is an annotation"
            yield _finding(site, "ignored", keyword, message, is_info=True)
    elif keyword == "required":
        declared = written.get("properties", {})
        for name in _strings(value):
            if isinstance(declared, dict) and name not in declared:
                meant = _meant(name, declared)
                if meant is not None and meant not in _strings(value):
                    message = f"{name!r} is not declared; did you mean {meant!r}?"
                    yield _finding(site, "typo", keyword, message)


def _finding(
    site: Site, status: Status, keyword: str, message: str, *, is_info: bool = False
) -> Finding:
    severity: Severity = "info" if is_info or status == "relaxed" else "warning"
    pointer = f"{site.pointer}/{escape_token(keyword)}"
    return Finding(status, severity, pointer, keyword, message)


def _strings(value: Any) -> list[str]:
    """The strings of a list; malformed values are somebody else's finding."""
    items = value if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, str)]


def _meant(word: str, known: Any) -> str | None:
    """The known word that another one is most likely a misspelling of."""
    folded = {name.replace("-", "").replace("_", "").lower(): name for name in known}
    found = get_close_matches(
        word.replace("-", "").replace("_", "").lower(), folded, n=1, cutoff=_CLOSE
    )
    return folded[found[0]] if found else None
