"""The constraint of a call: how it compiles, and how a finished text becomes a value."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jsonschema.exceptions import ValidationError as SchemaMismatch
from jsonschema.validators import Draft202012Validator, extend, validator_for
from pydantic import ValidationError as TypeMismatch
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..errors import GrammarError
from ..grammar.python_types import schema_of_type
from .matching import Grammar, GrammarCompiler

__all__ = ["Constraint", "constraint_of"]

_DECIMAL_DIGITS = 1_000
"""Precision of the validator's arithmetic: beyond what one number of a text may have."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the text must match.

    Attributes:
        front_end: the compiler's method, e.g. ``"json_schema"``.
        source: what that method takes.
        options: keyword arguments for it.
        read: a finished text to its value.
        notes: what the grammar cannot enforce.
    """

    front_end: str
    source: Any
    options: Mapping[str, Any]
    read: Callable[[str], Any]
    notes: tuple[str, ...] = ()

    def compile(self, compiler: GrammarCompiler) -> Grammar:
        """Raises ``GrammarError`` for bad input and for a front end this version lacks."""
        method = getattr(compiler, self.front_end, None)
        if method is None:
            raise GrammarError(
                f"{self.front_end} grammars are not available yet; use schema=, regex= or choices="
            )
        grammar: Grammar = method(self.source, **self.options)
        return grammar

    def value(self, text: str) -> Any:
        """The value of a finished text.

        Raises:
            ValueError: a validator function (or the schema itself) refuses it.
        """
        try:
            return self.read(text)
        except TypeMismatch as error:
            raise ValueError(str(error)) from error
        except SchemaMismatch as error:
            raise ValueError(f"{error.json_path}: {error.message}") from error


def constraint_of(
    *,
    schema: Any = None,
    regex: str | None = None,
    choices: Iterable[str] | None = None,
    tools: Sequence[Any] | None = None,
    lark: str | None = None,
    gbnf: str | None = None,
    options: Any = None,
    registry: Any = None,
) -> Constraint:
    """The one constraint among the arguments.

    Args:
        options: ``JsonOptions``, where the text is JSON.
        registry: a ``referencing.Registry`` of documents that a JSON Schema refers to.

    Raises:
        TypeError: none or several are given.
        GrammarError: a type without JSON form, or a schema given as text that is no JSON.
    """
    given = {
        "schema": schema,
        "regex": regex,
        "choices": choices,
        "tools": tools,
        "lark": lark,
        "gbnf": gbnf,
    }
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        found = " and ".join(names) if names else "none"
        raise TypeError(f"exactly one of {', '.join(given)} must be given, not {found}")
    (name,) = names
    extra = {} if options is None else {"options": options}
    if name == "schema" and isinstance(schema, str):
        schema = _parsed(schema)
    if name == "schema" and isinstance(schema, Mapping | bool):
        formats = getattr(options, "formats", "assert") == "assert"
        if registry is not None:
            extra["registry"] = registry
        reader = _json_reader(schema, formats, Registry() if registry is None else registry)
        return Constraint("json_schema", schema, extra, reader)
    if registry is not None:
        raise TypeError("registry= holds what a JSON Schema refers to; there is none")
    if name == "schema":
        typed = schema_of_type(schema)
        notes = tuple(f"only checked at the end: {name}" for name in typed.validators)
        return Constraint("json_schema", typed.json_schema, extra, typed.parse, notes)
    if name == "choices":
        assert choices is not None
        return Constraint("choices", list(choices), {}, str)
    if options is not None and name != "tools":
        raise TypeError(f"options= are those of a JSON text; {name}= takes none")
    return Constraint(name, given[name], extra, str)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise GrammarError(
            f"the schema is no JSON: {error.msg}", line=error.lineno, column=error.colno
        ) from None


def _json_reader(schema: Any, formats: bool, registry: Any) -> Callable[[str], Any]:
    """Reads JSON and checks it against the schema, with exact decimal numbers.

    Binary floats would refuse 0.07 as a multiple of 0.01.
    """

    def read(text: str) -> Any:
        exact = json.loads(json.dumps(schema), parse_float=Decimal)
        base = validator_for(exact, default=Draft202012Validator)
        draft: Any = extend(  # type: ignore[no-untyped-call]
            base, type_checker=base.TYPE_CHECKER.redefine("integer", _is_integer)
        )
        validator = draft(
            exact,
            registry=registry,
            format_checker=base.FORMAT_CHECKER if formats else None,
        )
        with decimal.localcontext(prec=_DECIMAL_DIGITS):
            try:
                validator.validate(json.loads(text, parse_float=Decimal))
            except Unresolvable as error:
                raise ValueError(f"the schema refers to what is not at hand: {error}") from error
        return json.loads(text)

    return read


def _is_integer(checker: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)
