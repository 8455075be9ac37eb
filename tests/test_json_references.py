"""Dynamic references and other documents, against jsonschema."""

from __future__ import annotations

import json
from typing import Any

import byte_texts
import pytest
from jsonschema import Draft201909Validator, Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import maskwright as mw
from maskwright.decoding.constraints import constraint_of
from maskwright.grammar.json_schema import JsonOptions

COMPILER = mw.Compiler(byte_texts.BYTES)
ANY = JsonOptions(property_order="any")


def accepts(fsm: Any, value: Any) -> bool:
    return byte_texts.accepts(fsm, json.dumps(value))


NODE = {
    "$id": "https://example.org/node",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"value": True, "next": {"$dynamicRef": "#node"}},
}
NUMBERED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/numbered",
    "$dynamicAnchor": "node",
    "$ref": "node",
    "properties": {"value": {"type": "integer"}},
    "$defs": {"node": NODE},
}
VALUES = [
    {},
    {"value": 1},
    {"value": "x"},
    {"value": 1, "next": {"value": 2}},
    {"value": 1, "next": {"value": "x"}},
    {"value": 1, "next": {"next": {"value": "x"}}},
    {"next": 7},
    [],
]


@pytest.mark.parametrize(
    "schema",
    [
        NUMBERED,
        NODE,
        {"$schema": NUMBERED["$schema"], "$ref": "numbered", "$defs": {"n": NUMBERED},
         "$id": "https://example.org/outer"},
        # Without the anchor beside it, a plain anchor is meant: no dynamic scope.
        {"$defs": {"a": {"$anchor": "a", "type": "integer"}}, "items": {"$dynamicRef": "#a"}},
    ],
)  # fmt: skip
def test_dynamic_references_with_one_meaning(schema: dict[str, Any]) -> None:
    fsm = COMPILER.json_schema(schema, options=ANY)
    validator = Draft202012Validator(schema)
    for value in [*VALUES, [1], ["x"]]:
        assert accepts(fsm, value) == validator.is_valid(value), value


def test_recursive_references() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://example.org/strict",
        "$recursiveAnchor": True,
        "$ref": "loose",
        "required": ["value"],
        "$defs": {
            "loose": {
                "$id": "loose",
                "$recursiveAnchor": True,
                "type": "object",
                "properties": {"next": {"$recursiveRef": "#"}},
            }
        },
    }
    fsm = COMPILER.json_schema(schema, options=ANY)
    validator = Draft201909Validator(schema)
    for value in VALUES:
        assert accepts(fsm, value) == validator.is_valid(value), value


def test_a_dynamic_reference_with_two_meanings_is_refused() -> None:
    """The list means integers on one way and strings on the other."""

    def use(kind: str) -> dict[str, Any]:
        item = {"$dynamicAnchor": "item", "type": kind}
        return {"$id": kind, "$ref": "list", "$defs": {"item": item}}

    items = {
        "$id": "list",
        "items": {"$dynamicRef": "#item"},
        "$defs": {"default": {"$dynamicAnchor": "item"}},
    }
    properties = {"a": use("integer"), "b": use("string")}
    schema = {
        "$id": "https://example.org/root",
        "properties": properties,
        "$defs": {"list": items},
    }
    with pytest.raises(mw.UnsupportedSchemaError, match="different ways") as caught:
        COMPILER.json_schema(schema)
    assert caught.value.keyword == "$dynamicRef"
    del properties["b"]
    fsm = COMPILER.json_schema(schema)
    assert accepts(fsm, {"a": [1]})
    assert not accepts(fsm, {"a": ["x"]})


def test_the_compiler_takes_a_registry() -> None:
    uri = "https://example.org/count.json"
    resource = DRAFT202012.create_resource({"type": "integer", "minimum": 1})
    schema = {"properties": {"n": {"$ref": uri}}, "additionalProperties": False}
    fsm = COMPILER.json_schema(schema, registry=Registry().with_resource(uri, resource))
    assert accepts(fsm, {"n": 1})
    assert not accepts(fsm, {"n": 0})
    with pytest.raises(mw.GrammarError, match=r"referencing\.Registry"):
        COMPILER.json_schema(schema)


def test_a_registry_that_fails_is_an_error_with_the_place() -> None:
    def retrieve(uri: str) -> Any:
        raise OSError(f"no route to {uri}")

    schema = {"properties": {"n": {"$ref": "https://example.org/n"}}}
    registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    with pytest.raises(mw.GrammarError, match="no target") as caught:
        COMPILER.json_schema(schema, registry=registry)
    assert caught.value.pointer == "#/properties/n/$ref"


def test_finished_texts_are_validated_with_the_registry() -> None:
    uri = "https://example.org/count.json"
    resource = DRAFT202012.create_resource({"type": "integer", "minimum": 1})
    registry = Registry().with_resource(uri, resource)
    constraint = constraint_of(schema={"$ref": uri}, registry=registry)
    assert constraint.compile(COMPILER).matcher() is not None
    assert constraint.value("1") == 1
    with pytest.raises(ValueError, match="minimum"):
        constraint.value("0")
    with pytest.raises(TypeError, match="registry"):
        constraint_of(regex="a", registry=registry)
    with pytest.raises(TypeError, match="registry"):
        constraint_of(schema=int, registry=registry)
