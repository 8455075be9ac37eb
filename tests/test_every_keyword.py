"""Random schemas over every keyword that validates: allowed is valid, and valid is allowed.

Two validators are the oracle. Keys may come in any order here, as they may for a validator, and
the tokens are bytes.
"""

from __future__ import annotations

import json
from typing import Any

import byte_texts
import jsonschema_rs
from effort import effort
from hypothesis import HealthCheck, assume, event, given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

import maskwright as mw
from maskwright.decoding.constraints import constraint_of
from maskwright.fsm.token_fsm import TokenFSM
from maskwright.grammar.json_schema.dialects import EVERY_KEYWORD

COMPILER = mw.Compiler(byte_texts.BYTES)
ANY_ORDER = mw.JsonOptions(property_order="any")
DRAFT = "https://json-schema.org/draft/2020-12/schema"

NAMES = ["a", "b", "ab"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
FORMATS = ["date", "ipv4", "uuid", "not-a-format"]

scalars = st.sampled_from(
    [None, True, False, 0, 1, 2, -1, 1.0, 1.5, 4, "", "a", "ab", "b", "é", "2024-02-29", "::1"]
)
names = st.sampled_from(NAMES)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "x"]), inner)
    ),
    max_leaves=6,
)
counts = st.integers(0, 2)
numbers = st.sampled_from([-1, 0, 1, 1.5, 2])
# Not ".": the validators differ in whether it matches a carriage return.
patterns = st.sampled_from(["^a", "b$", "^[ab]*$", "[^b]"])
references = st.sampled_from(["#", "#/$defs/d", "#named"])


def keywords_over(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Each keyword's values; subschemas are drawn from ``inner``."""
    some = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(names, inner, max_size=2)
    lists = st.dictionaries(names, st.lists(names, unique=True, max_size=2), max_size=1)
    return {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": values,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "minLength": counts,
        "maxLength": counts,
        "pattern": patterns,
        "format": st.sampled_from(FORMATS),
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 0.5, 1.5]),
        "items": inner,
        "prefixItems": some,
        "minItems": counts,
        "maxItems": counts,
        "contains": inner,
        "minContains": counts,
        "maxContains": counts,
        "uniqueItems": st.booleans(),
        "unevaluatedItems": inner,
        "properties": named,
        "required": st.lists(names, max_size=2, unique=True),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(patterns, inner, max_size=2),
        "propertyNames": inner,
        "minProperties": counts,
        "maxProperties": counts,
        "dependentRequired": lists,
        "dependentSchemas": st.dictionaries(names, inner, max_size=1),
        "unevaluatedProperties": inner,
        "$ref": references,
        "$dynamicRef": references,
    }


PLAIN = frozenset(b'{}[]:,"0123456789abetrufalsn-. \\')
"""Bytes that bring a text to its end."""

NOT_OF_THIS_DRAFT = {"dependencies", "additionalItems", "$recursiveRef"}
NO_ASSERTIONS = {"$anchor"}


TOGETHER = [
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef"),
    ("minLength", "maxLength", "pattern", "format", "enum"),
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "unevaluatedItems", "anyOf"),
    ("contains", "minContains", "maxContains", "maxItems", "items", "uniqueItems"),
    ("properties", "required", "additionalProperties", "patternProperties", "maxProperties"),
    ("properties", "propertyNames", "minProperties", "dependentRequired", "dependentSchemas"),
    ("unevaluatedProperties", "properties", "anyOf", "if", "then", "$ref"),
]
"""Keywords that bear on each other."""


def some_keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_name = keywords_over(inner)

    @st.composite
    def draw_schema(draw: st.DrawFn) -> dict[str, Any]:
        kind = draw(st.sampled_from([*TOGETHER, tuple(by_name)]))
        chosen = draw(st.lists(st.sampled_from(kind), min_size=1, max_size=4, unique=True))
        chosen += draw(st.lists(st.sampled_from(sorted(by_name)), max_size=1))
        return {name: draw(by_name[name]) for name in chosen}

    return draw_schema()


leaves = st.booleans() | st.fixed_dictionaries({"type": st.sampled_from(TYPES)})
leaves |= st.fixed_dictionaries({"const": values}) | st.fixed_dictionaries({"$ref": references})
subschemas = some_keywords(st.recursive(leaves, some_keywords, max_leaves=8))


@st.composite
def whole_schemas(draw: st.DrawFn) -> Any:
    definitions = {"d": draw(subschemas), "e": {"$anchor": "named", **draw(subschemas)}}
    return {"$schema": DRAFT, **draw(subschemas), "$defs": definitions}


def compiled(schema: Any) -> TokenFSM | None:
    """The FSM, or ``None`` if nothing satisfies the schema; skips what is refused or a loop."""
    try:
        return COMPILER.json_schema(schema, options=ANY_ORDER)
    except mw.UnsatisfiableError:
        return None
    except (mw.GrammarError, mw.LimitError) as error:
        event(f"refused: {type(error).__name__}")
        assume(False)
        raise AssertionError from None


def test_the_strategy_has_every_keyword_of_the_draft() -> None:
    assert keywords_over(st.none()).keys() == EVERY_KEYWORD - NOT_OF_THIS_DRAFT - NO_ASSERTIONS


@effort(100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(whole_schemas(), st.lists(values, min_size=4, max_size=8))
def test_allowed_is_valid_and_valid_is_allowed(schema: Any, instances: list[Any]) -> None:
    fsm = compiled(schema)
    checker = Draft202012Validator.FORMAT_CHECKER
    slow = Draft202012Validator(schema, format_checker=checker)
    fast = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    for value in instances:
        try:
            expected = slow.is_valid(value)
        except RecursionError:
            assume(False)  # a loop through anyOf, which means something, but not to validators
        allowed = fsm is not None and byte_texts.accepts(fsm, json.dumps(value))
        assert (allowed, fast.is_valid(value)) == (expected, expected), value


@effort(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(whole_schemas(), st.randoms(use_true_random=False))
def test_whatever_the_masks_allow_to_the_end_is_valid(schema: Any, source: Any) -> None:
    fsm = compiled(schema)
    assume(fsm is not None)
    assert fsm is not None
    matcher = fsm.matcher()
    for length in range(400):
        if matcher.is_accepting() and (length > 40 or source.random() < 0.3):
            break
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, "a dead end"
        if length > 20:
            allowed = [token for token in allowed if token in PLAIN] or allowed
        assert matcher.accept(source.choice(allowed))
        if matcher.is_done:
            break
    assume(matcher.is_accepting() or matcher.is_done)
    text = fsm.vocabulary.join(matcher.tokens).decode()
    try:
        # With exact decimals: 1.0000000000000001 is no integer.
        constraint_of(schema=schema).value(text)
    except RecursionError:
        assume(False)
