"""The key types of dicts, as JSON Schema for *names*.

A JSON object's keys are strings, and pydantic reads each through the key type: ``dict[int, X]``
takes ``{"1": ...}``. The stock schema forgets that. Here a key type becomes a schema over
strings, which the caller writes with the weakest keyword that says it: ``properties`` for
finitely many names, ``patternProperties`` for a pattern, ``propertyNames`` otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Any, Protocol

from pydantic_core import SchemaValidator, ValidationError, core_schema

from .digit_ranges import integers
from .spellings import FLOAT, anchored

__all__ = ["KeySource", "key_schema", "object_of_keys"]

_WRAPPERS = frozenset(
    ("default", "nullable", "function-before", "function-after", "function-wrap", "custom-error")
)


class KeySource(Protocol):
    """What this module needs of the generator."""

    def generate_inner(self, schema: Any) -> dict[str, Any]: ...

    def definition(self, ref: str) -> Any: ...

    def refuse(self, reason: str) -> Exception: ...


def _leaves(source: KeySource, schema: Any) -> Iterator[Any]:
    """The alternatives of a key type, without what wraps them (references cannot recurse here)."""
    pending, seen = [schema], set[str]()
    while pending:
        schema = pending.pop()
        kind = schema["type"]
        if kind in _WRAPPERS:
            pending.append(schema["schema"])
        elif kind == "definition-ref":
            if schema["schema_ref"] in seen:
                continue
            seen.add(schema["schema_ref"])
            pending.append(source.definition(schema["schema_ref"]))
        elif kind == "definitions":
            pending.append(schema["schema"])
        elif kind == "lax-or-strict":
            pending.append(schema["lax_schema"])
        elif kind == "json-or-python":
            pending.append(schema["json_schema"])
        elif kind == "chain":
            pending.append(schema["steps"][0])
        elif kind == "union":
            choices = (c[0] if isinstance(c, tuple) else c for c in schema["choices"])
            pending.extend(reversed(list(choices)))
        else:
            yield schema


def _names(schema: Any, values: list[Any]) -> list[str]:
    """The names among ``str(value)`` that pydantic reads as a key of this type."""
    validator = SchemaValidator(core_schema.dict_schema(keys_schema=schema))
    names = []
    for value in values:
        value = value.value if isinstance(value, Enum) else value
        name = value if isinstance(value, str) else str(value)
        try:
            validator.validate_json(json.dumps({name: None}))
        except ValidationError:
            continue
        names.append(name)
    return names


def _leaf(source: KeySource, schema: Any) -> dict[str, Any]:
    kind = schema["type"]
    if kind == "any":
        return {}
    if kind == "none":
        return {"enum": []}
    if kind == "bool":
        return {"enum": ["true", "false"]}
    if kind in ("enum", "literal"):
        # pydantic reads an integer from a key's text only where the enum itself is an int.
        bare = {key: value for key, value in schema.items() if key != "ref"}
        members = bare["expected"] if kind == "literal" else [m.value for m in bare["members"]]
        return {"enum": _names(bare, members)}
    if kind == "int":
        if schema.get("multiple_of") is not None:
            raise source.refuse("multiple_of on integer keys cannot be enforced")
        low, high = schema.get("ge"), schema.get("le")
        if (above := schema.get("gt")) is not None:
            low = above + 1 if low is None else max(low, above + 1)
        if (below := schema.get("lt")) is not None:
            high = below - 1 if high is None else min(high, below - 1)
        pattern = integers(low, high)
        return {"enum": []} if pattern is None else {"pattern": anchored(pattern)}
    if kind in ("float", "decimal"):
        bounds = ("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places")
        if any(schema.get(bound) is not None for bound in bounds):
            raise source.refuse("bounds on number keys cannot be enforced")
        return {"pattern": FLOAT}
    shown = dict(source.generate_inner(schema))
    if shown.get("type") != "string":
        raise source.refuse(f"a key of type {kind!r} is not a string in JSON")
    return {k: v for k, v in shown.items() if k not in ("type", "title", "description")}


def key_schema(source: KeySource, schema: Any) -> dict[str, Any]:
    """JSON Schema of the names that a key type allows; ``{}`` for every name."""
    options = [_leaf(source, leaf) for leaf in _leaves(source, schema)]
    if not all(options):
        return {}
    names = [name for option in options for name in option.get("enum", ())]
    others = [option for option in options if "enum" not in option]
    if not others:
        return {"enum": list(dict.fromkeys(names))}
    if names:
        others.append({"enum": names})
    return others[0] if len(others) == 1 else {"anyOf": others}


def object_of_keys(names: dict[str, Any], values: dict[str, Any] | bool) -> dict[str, Any]:
    """An object whose keys match ``names`` and whose values match ``values``."""
    if not names:
        return {"type": "object", "additionalProperties": values}
    if set(names) == {"enum"}:
        return {
            "type": "object",
            "properties": dict.fromkeys(names["enum"], values),
            "additionalProperties": False,
        }
    if set(names) == {"pattern"}:
        return {
            "type": "object",
            "patternProperties": {names["pattern"]: values},
            "additionalProperties": False,
        }
    return {"type": "object", "propertyNames": names, "additionalProperties": values}
