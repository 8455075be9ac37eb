"""Items and keys that must differ: masks against ``accept``, and both against jsonschema.

What is allowed depends on the values in the text, so nothing of it is covered by tests of nodes.
The vocabulary has tokens that cross the end of an item or key in every way.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from effort import effort
from exact_json import exact_loads
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from maskwright import Compiler, Vocabulary, allocate_bitmask, fill_bitmasks
from maskwright.errors import UnsatisfiableError, UnsupportedSchemaError
from maskwright.fsm.matcher import Matcher
from maskwright.grammar.json_schema import JsonOptions

PIECES = [
    *('","', '"]', '",', '", "', '"a"', '"a","a"', '","b', '"a","b"', 'a","a', '"],["', '"]]'),
    *(
        "],[",
        "]]",
        "],",
        "1,",
        "1,1",
        "1, 2",
        "1.0,",
        ",1",
        "11",
        "true,",
        "true,false",
        "e,",
        "],[1",
    ),
    *('"a":1', ',"b":', '":', '":1,"', '1,"a":1', '{"a":1,"b":1}', '"b": ', '{"', "1}"),
    *("},{", '},{"', '{"a":', '{"a":1}', '":1},{"', "null,null", "[[", "[]", "[],[", '""', '"",""'),
    *(' "', 'a"', "\n", ", ", "ab", "null", "\\u0061", "\\n"),
]
TOKENS = [*(bytes([i]) for i in range(256)), *(piece.encode() for piece in PIECES), None]
COMPILER = Compiler(Vocabulary.from_tokens(TOKENS, eos_ids=[len(TOKENS) - 1]))
PIECE_IDS = range(256, len(TOKENS) - 1)
BITS = allocate_bitmask(1, len(TOKENS))

scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 2, 11, "", "a", "b", "ab"])
items = st.sampled_from(
    [
        True,
        {"type": "boolean"},
        {"type": "string"},
        {"type": "string", "maxLength": 1},
        {"type": "integer"},
        {"type": "integer", "minimum": 1, "maximum": 3},
        {"type": "number"},
        {"enum": ["a", "ab", "b"]},
        {"enum": [1, 1.0, True, None, "a"]},
        {"enum": [[], [1], {"a": 1}, {}]},
        {"pattern": "^a{1,2}$", "type": "string"},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 1},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {
            "type": "object",
            "properties": {"a": {"enum": [1, 2]}},
            "additionalProperties": False,
        },
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
    ]
)


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "minProperties": draw(st.integers(0, 4))}
    values = st.sampled_from([True, {"type": "integer"}, {"const": 1}, {"type": "boolean"}])
    if draw(st.booleans()):
        schema["maxProperties"] = draw(st.integers(2, 5))
    if draw(st.booleans()):
        schema["properties"] = draw(st.dictionaries(st.sampled_from("ax"), values))
    if draw(st.booleans()):
        patterns = st.sampled_from(["^a", "^[ab]$", "b$"])
        schema["patternProperties"] = draw(st.dictionaries(patterns, values, max_size=2))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(values | st.just(False))
    if draw(st.integers(0, 2)) == 0:
        names = [{"enum": ["a", "b", "ab", "x"]}, {"maxLength": 1}, {"pattern": "^[ab]"}]
        schema["propertyNames"] = draw(st.sampled_from(names))
    if draw(st.integers(0, 2)) == 0:
        schema["allOf"] = [{"not": {"additionalProperties": draw(values)}} for _ in range(2)]
    return schema


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "uniqueItems": True}
    if draw(st.booleans()):
        schema["prefixItems"] = draw(st.lists(items, min_size=1, max_size=3))
    schema["items"] = draw(items)
    if draw(st.booleans()):
        schema["minItems"] = draw(st.integers(0, 4))
    if draw(st.booleans()):
        schema["maxItems"] = draw(st.integers(0, 5))
    if draw(st.integers(0, 4)) == 0:
        schema["contains"] = draw(items)
    around = draw(st.integers(0, 4))
    if around == 0:
        return {"type": "array", "items": schema, "uniqueItems": True}
    if around == 1:
        return {"anyOf": [schema, {"type": "array", "items": {"type": "string"}, "maxItems": 2}]}
    return schema


def mask_of(matcher: Matcher) -> list[int]:
    matcher.fill_bitmask(BITS)
    row = np.asarray(BITS)[0]
    return [token for token in range(len(TOKENS)) if row[token >> 5] >> (token & 31) & 1]


@given(
    schemas() | objects(),
    st.integers(0, 2**32),
    st.sampled_from(["compact", "default", "flexible"]),
    st.sampled_from(["schema", "any"]),
)
def test_masks_agree_with_accept_and_lead_to_valid_texts(
    schema: dict[str, Any], seed: int, whitespace: Any, order: Any
) -> None:
    options = JsonOptions(whitespace=whitespace, property_order=order)
    try:
        fsm = COMPILER.json_schema(schema, options=options)
    except (UnsatisfiableError, UnsupportedSchemaError):
        return
    choose = random.Random(seed)
    matcher = fsm.matcher()
    for step in range(24):
        allowed = mask_of(matcher)
        assert allowed, f"dead end after {matcher.tokens}"
        assert allowed == list(matcher.allowed_tokens())
        for token in range(len(TOKENS)) if step % 2 else PIECE_IDS:
            accepted = matcher.accept(token)
            assert accepted == (token in allowed), (matcher.tokens, TOKENS[token])
            matcher.rollback(accepted)
        if step % 7 == 3:
            count = choose.randrange(min(4, len(matcher.tokens) + 1))
            undone = matcher.tokens[len(matcher.tokens) - count :]
            matcher.rollback(count)
            assert matcher.accept_all(undone) == count
            assert mask_of(matcher) == allowed
        if matcher.is_accepting():
            text = fsm.vocabulary.decode(matcher.tokens)
            assert Draft202012Validator(schema).is_valid(exact_loads(text)), text
            if choose.random() < 0.5:
                return
        # Prefer the tokens that cross the end of an item.
        texts = [t for t in allowed if TOKENS[t] is not None]
        crossing = [t for t in texts if t >= 256]
        if not texts:
            return
        token = choose.choice(crossing if crossing and choose.random() < 0.8 else texts)
        assert matcher.accept(token)


@given(
    st.tuples(schemas(), st.lists(scalars | st.lists(scalars, max_size=2), max_size=5))
    | st.tuples(objects(), st.dictionaries(st.sampled_from(["a", "b", "ab", "x", "y"]), scalars)),
    st.integers(),
)
def test_what_is_valid_is_accepted_and_nothing_else(
    pair: tuple[dict[str, Any], Any], seed: int
) -> None:
    schema, instance = pair
    try:
        fsm = COMPILER.json_schema(schema, options=JsonOptions(property_order="any"))
    except UnsupportedSchemaError:
        return
    except UnsatisfiableError:
        assert not Draft202012Validator(schema).is_valid(instance)
        return
    choose = random.Random(seed)
    text = json.dumps(instance, separators=(",", ":")).encode()
    matcher = fsm.matcher()
    place = 0
    while place < len(text):
        fitting = [t for t, data in enumerate(TOKENS) if data and text.startswith(data, place)]
        token = choose.choice(fitting)
        if not matcher.accept(token):
            break
        place += len(TOKENS[token] or b"")
    accepted = place == len(text) and matcher.is_accepting()
    assert accepted == Draft202012Validator(schema).is_valid(instance), text


def test_a_batch_with_other_grammars_is_filled_alike() -> None:
    unique = COMPILER.json_schema(
        {"items": {"type": "string"}, "uniqueItems": True, "type": "array"}
    )
    plain = COMPILER.regex("[ab]+")
    matchers = [unique.matcher(), plain.matcher(), unique.matcher()]
    assert matchers[0].accept_all([TOKENS.index(t) for t in (b"[", b'"a"', b",", b'"', b"a")]) == 5
    bits = allocate_bitmask(3, len(TOKENS))
    fill_bitmasks(matchers, bits)
    for row, matcher in enumerate(matchers):
        alone = allocate_bitmask(1, len(TOKENS))
        matcher.fill_bitmask(alone)
        assert (np.asarray(bits)[row] == np.asarray(alone)[0]).all()
    allowed = matchers[0].allowed_tokens()
    assert ord('"') not in allowed
    assert TOKENS.index(b'","') not in allowed
    assert TOKENS.index(b"ab") in allowed


def test_a_refused_token_changes_nothing() -> None:
    matcher = COMPILER.json_schema({"type": "array", "uniqueItems": True}).matcher()
    assert matcher.accept_all([TOKENS.index(t) for t in (b"[", b"1,")]) == 2
    assert not matcher.accept(TOKENS.index(b"1,1"))
    assert not matcher.accept(TOKENS.index(b"1.0,"))
    assert matcher.accept(TOKENS.index(b"11"))
    matcher.reset()
    assert matcher.accept_all([TOKENS.index(t) for t in (b"[", b"1,", b"2", b"]")]) == 4
    assert matcher.is_accepting()


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"enum": ["a", "b"]}, "minItems": 3},
        {"prefixItems": [{"const": 1}, {"const": 1.0}], "minItems": 2},
        {"items": {"type": "boolean"}, "minItems": 3},
        {"prefixItems": [{"type": "boolean"}] * 3, "minItems": 3},
    ],
)
def test_too_few_values_are_noticed_at_once(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsatisfiableError):
        COMPILER.json_schema({"type": "array", "uniqueItems": True, **schema})


def test_values_needed_later_are_kept() -> None:
    schema = {
        "type": "array",
        "uniqueItems": True,
        "prefixItems": [{"type": "string"}, {"enum": ["a", "b"]}, {"const": "a"}],
        "minItems": 3,
    }
    matcher = COMPILER.json_schema(schema).matcher()
    assert matcher.accept_all([*b'["c","']) == 6
    allowed = matcher.allowed_tokens()
    assert ord("b") in allowed
    assert ord("a") not in allowed


@effort(20)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=30))
def test_strings_of_any_kind(values: list[str]) -> None:
    fsm = COMPILER.json_schema({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
    for ascii_only in (False, True):
        matcher = fsm.matcher()
        text = json.dumps(values, ensure_ascii=ascii_only).encode()
        complete = matcher.accept_all([*text]) == len(text) and matcher.is_accepting()
        assert complete == (len(set(values)) == len(values))


def test_a_met_obligation_is_not_undone_and_binds_no_other_key() -> None:
    schema = {"type": "object", "not": {"additionalProperties": {"type": "integer"}}}
    for order in ("schema", "any"):
        fsm = COMPILER.json_schema(schema, options=JsonOptions(property_order=order))
        for text, is_valid in (
            ('{"a":null,"b":0}', True),
            ('{"a":0,"a":null,"b":0}', True),
            ('{"a":null,"a":0}', False),
            ('{"a":0}', False),
        ):
            matcher = fsm.matcher()
            assert Draft202012Validator(schema).is_valid(exact_loads(text)) == is_valid
            assert (matcher.accept_all(list(text.encode())) == len(text)) == is_valid, text


def test_arrays_that_can_run_out_do() -> None:
    """Four arrays of different strings, and then no comma."""
    inner = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "minItems": 1}
    schema = {"type": "array", "items": inner, "uniqueItems": True}
    matcher = COMPILER.json_schema(schema, options=JsonOptions(whitespace="compact")).matcher()
    text = b'[["a"],["b"],["a","b"],["b","a"'
    assert matcher.accept_all(list(text)) == len(text)
    assert b"]," not in [TOKENS[token] for token in mask_of(matcher)]
    assert matcher.accept(ord("]"))
    assert mask_of(matcher) == [ord("]")]
