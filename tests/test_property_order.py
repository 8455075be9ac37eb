"""Members in any order: every order of every valid object, and nothing else."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from typing import Any

import byte_texts
import pytest
from effort import effort
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import maskwright as mw
from maskwright.grammar.json_schema import JsonOptions

COMPILER = mw.Compiler(byte_texts.BYTES)
ANY = JsonOptions(property_order="any", whitespace="compact")


def accepts(fsm: Any, value: Any) -> bool:
    return byte_texts.accepts(fsm, json.dumps(value, separators=(",", ":")))


def texts(fsm: Any, tokens: list[bytes]) -> set[str]:
    """All texts of a finite grammar, by following every allowed token; fails at dead ends."""
    found = set()
    eos = len(tokens) - 1
    pending = [(fsm.matcher(), b"")]
    while pending:
        matcher, text = pending.pop()
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, text
        for token in allowed:
            if token == eos:
                found.add(text.decode())
                continue
            fork = matcher.fork()
            assert fork.accept(token)
            pending.append((fork, text + tokens[token]))
    return found


@pytest.mark.parametrize(
    ("limits", "required"),
    [({}, "a"), ({}, "abc"), ({"minProperties": 2}, ""), ({"maxProperties": 2}, "c")],
)
def test_every_order_of_every_subset_and_no_dead_end(limits: dict[str, int], required: str) -> None:
    tokens = [bytes([i]) for i in b'{}:,"abc17'] + [b'{"', b'":1', b',"', b'"b":1', b"<eos>"]
    compiler = mw.Compiler(mw.Vocabulary.from_tokens(tokens, eos_ids=[len(tokens) - 1]))
    schema = {
        "type": "object",
        "properties": {name: {"const": 1, "type": "string"} for name in "d"}
        | {name: {"enum": ["1", "7"]} for name in "abc"},
        "required": list(required),
        "additionalProperties": False,
        **limits,
    }
    fsm = compiler.json_schema(schema, options=ANY)
    expected = set()
    validator = Draft202012Validator(schema)
    for size in range(4):
        for names in combinations("abc", size):
            for order in permutations(names):
                for bits in range(2**size):
                    value = {name: "17"[bits >> i & 1] for i, name in enumerate(order)}
                    if validator.is_valid(value):
                        expected.add(json.dumps(value, separators=(",", ":")))
    assert texts(fsm, tokens) == expected


names = st.sampled_from(["a", "b", "c", "d", "xy"])
leaves: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": "integer"}, {"type": "boolean"}, {"enum": [1, "q"]}, True, False]
)


@st.composite
def object_schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = draw(st.dictionaries(names, leaves, max_size=4))
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(names, unique=True, max_size=2))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(leaves)
    if draw(st.booleans()):
        schema["patternProperties"] = {"^x": draw(leaves)}
    if draw(st.booleans()):
        schema["minProperties"] = 1
    if draw(st.booleans()):
        schema["maxProperties"] = draw(st.integers(0, 4))
    if draw(st.booleans()):
        schema["not"] = {"required": [draw(names)]}
    if draw(st.booleans()):
        schema["anyOf"] = [{"properties": {draw(names): draw(leaves)}}, {"required": ["a"]}]
    return schema


instances = st.dictionaries(names, st.sampled_from([1, True, "q"]), max_size=5)


@effort(150)
@given(object_schemas(), st.lists(instances, min_size=1, max_size=6))
def test_agrees_with_jsonschema_whatever_the_order(
    schema: dict[str, Any], values: list[dict[str, Any]]
) -> None:
    try:
        fsm = COMPILER.json_schema(schema, options=ANY)
    except mw.UnsupportedSchemaError:
        return
    except mw.UnsatisfiableError:
        fsm = None
    validator = Draft202012Validator(schema)
    for value in values:
        assert (fsm is not None and accepts(fsm, value)) == validator.is_valid(value), value


def test_a_declared_key_is_written_once() -> None:
    fsm = COMPILER.json_schema({"properties": {"a": True, "b": True}}, options=ANY)
    matcher = fsm.matcher()
    assert all(matcher.accept(byte) for byte in b'{"b":1,"z":2,"')
    assert matcher.accept(ord("b"))
    assert not matcher.accept(ord('"'))


def test_constants_are_objects_in_any_order_too() -> None:
    fsm = COMPILER.json_schema({"const": {"a": 1, "b": {"c": 2, "d": 3}}}, options=ANY)
    assert accepts(fsm, {"b": {"d": 3, "c": 2}, "a": 1})
    assert not accepts(fsm, {"b": {"d": 3}, "a": 1})
