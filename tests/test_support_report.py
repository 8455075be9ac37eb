"""The support report: complete, with pointers, and never another verdict than the compiler's."""

from __future__ import annotations

import json
from typing import Annotated, Any

import byte_texts
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import maskwright as mw
from maskwright.grammar.json_schema import JsonOptions, JsonSchemaGrammar, check_schema
from maskwright.grammar.json_schema.dialects import EVERY_KEYWORD
from maskwright.grammar.report import RULES_MEASURED

COMPILER = mw.Compiler(byte_texts.BYTES)


def found(schema: Any, status: str, **options: Any) -> set[str]:
    report = check_schema(schema, options=JsonOptions(**options))
    return {finding.where for finding in report.findings if finding.status == status}


def test_every_error_is_listed_not_just_the_first() -> None:
    schema = {
        "properties": {
            "a": {"type": "strin"},
            "b": {"minLength": -1, "maxLength": "x"},
            "c": {"$ref": "#/nope"},
            "d": {"pattern": "("},
            "e": 5,
        }
    }
    report = check_schema(schema)
    assert not report.is_ok
    assert report.size is None
    assert [finding.where for finding in report.of("error")] == [
        "#/properties/a/type",
        "#/properties/b/minLength",
        "#/properties/b/maxLength",
        "#/properties/c/$ref",
        "#/properties/d/pattern",
        "#/properties/e",
    ]


def test_what_is_refused_too_large_or_a_loop() -> None:
    nested: dict[str, Any] = {"not": {"properties": {"a": {"multipleOf": 0.123456789}}}}
    report = check_schema({"properties": {"x": nested, "y": {"multipleOf": 0.123456789}}})
    assert {finding.status for finding in report.of("error")} == {"too large"}
    assert {finding.where for finding in report.of("error")} >= {"#/properties/y/multipleOf"}
    items = {"$id": "list", "items": {"$dynamicRef": "#i"}, "$defs": {"d": {"$dynamicAnchor": "i"}}}
    uses = {
        kind: {
            "$id": kind,
            "$ref": "list",
            "$defs": {"i": {"$dynamicAnchor": "i", "type": kind}},
        }
        for kind in ("integer", "string")
    }
    schema = {"$id": "https://example.org/", "properties": uses, "$defs": {"list": items}}
    (finding,) = check_schema(schema).of("error")
    assert (finding.status, finding.keyword) == ("refused", "$dynamicRef")
    assert found({"allOf": [{"$ref": "#"}]}, "malformed") == {"#/allOf/0"}


def test_typos() -> None:
    schema = {
        "properties": {
            "name": {"type": "string", "maxLenght": 3},
            "when": {"format": "datetime"},
            "Tag": {"anyof": [{"type": "string"}]},
        },
        "required": ["nmae"],
        "additionalproperties": False,
        "x-type": 1,
        "_enum": [],
    }
    assert found(schema, "typo") == {
        "#/properties/name/maxLenght",
        "#/properties/when/format",
        "#/properties/Tag/anyof",
        "#/required",
        "#/additionalproperties",
    }
    message = str(check_schema({"maxLenght": 3}))
    assert "did you mean maxLength?" in message


def test_what_has_no_effect() -> None:
    schema = {
        "properties": {
            "a": {"type": "integer", "minLength": 4, "maximum": 3},
            "b": {"type": ["string", "null"], "minLength": 4, "items": {}},
            "c": {"then": {}, "maxContains": 4},
        },
    }
    assert found(schema, "idle") == {
        "#/properties/a/minLength",
        "#/properties/b/items",
        "#/properties/c/then",
        "#/properties/c/maxContains",
    }


def test_what_the_specification_ignores() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"x": {"type": "string"}},
        "properties": {
            "a": {"$ref": "#/definitions/x", "maxLength": 3, "description": "beside"},
            "b": {"prefixItems": [{}], "nullable": True, "title": "B"},
            "c": {"format": "color", "contentEncoding": "base64"},
        },
    }
    assert found(schema, "ignored") == {
        "#/properties/a/maxLength",
        "#/properties/b/prefixItems",
        "#/properties/b/nullable",
        "#/properties/c/format",
        "#/properties/c/contentEncoding",
    }


def test_what_the_options_relax() -> None:
    schema = {"properties": {"a": {"uniqueItems": True, "format": "date"}}}
    assert found(schema, "relaxed", relax=("uniqueItems",)) == {"#/properties/a/uniqueItems"}
    assert found(schema, "relaxed", formats="annotate") == {"#/properties/a/format"}
    assert "#/properties/a/uniqueItems" not in found(schema, "enforced", relax=("uniqueItems",))


def test_what_is_enforced() -> None:
    schema = {"properties": {"a/b": {"type": "string", "format": "date", "title": "A"}}}
    assert found(schema, "enforced") == {
        "#/properties",
        "#/properties/a~1b/type",
        "#/properties/a~1b/format",
    }


def test_parts_that_nothing_satisfies_are_warnings_the_whole_is_an_error() -> None:
    never = {"type": "integer", "minimum": 2, "maximum": 1}
    schema: dict[str, Any] = {"properties": {"a": {"properties": {"b": never}, "required": ["b"]}}}
    schema["properties"]["a"]["type"] = "object"
    report = check_schema(schema)
    assert report.is_ok
    (finding,) = report.with_status("unsatisfiable")
    assert (finding.severity, finding.where) == ("warning", "#/properties/a/properties/b")
    report = check_schema(schema | {"required": ["a"], "type": "object"})
    assert not report.is_ok
    assert [f.severity for f in report.with_status("unsatisfiable")] == ["error"]
    assert check_schema(False).of("error")


def test_the_size_says_when_it_is_not_the_whole() -> None:
    small = check_schema({"items": {"type": "integer"}}).size
    assert small is not None
    assert small.is_whole
    long = {"type": "array", "items": {"type": "integer"}, "maxItems": 3 * RULES_MEASURED}
    prefix = [{"enum": [i]} for i in range(3)]
    large = check_schema(long | {"prefixItems": prefix, "contains": {"const": 1}}).size
    assert large is not None
    assert large.is_whole == (large.rules < RULES_MEASURED)


def test_other_documents_count() -> None:
    uri = "https://example.org/count.json"
    resource = DRAFT202012.create_resource({"type": "integer", "minimun": 1})
    schema = {"properties": {"n": {"$ref": uri}}}
    report = COMPILER.check(schema, registry=Registry().with_resource(uri, resource))
    assert [finding.where for finding in report.with_status("typo")] == [f"{uri}#/minimun"]
    assert not COMPILER.check(schema).is_ok


def _is_even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


class Model(BaseModel):
    even: Annotated[int, AfterValidator(_is_even)]


def test_types_are_checked_too() -> None:
    report = COMPILER.check(Model)
    assert report.is_ok
    (finding,) = report.with_status("deferred")
    assert "even" in finding.where
    assert COMPILER.check('{"maxLenght": 3}').with_status("typo")
    with pytest.raises(mw.GrammarError):
        COMPILER.check("{")


def test_reports_are_json() -> None:
    schema = {"properties": {"a": {"minLenght": 1}}}
    value = json.loads(json.dumps(check_schema(schema).as_json()))
    assert value["ok"] is True
    assert {finding["where"] for finding in value["findings"]} >= {"#/properties/a/minLenght"}


_words = st.sampled_from([*sorted(EVERY_KEYWORD), "$id", "$defs", "a", "maxLenght"])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["a", "string", "#", "("]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(_words, _values, max_size=4) | _values, st.sampled_from(["schema", "any"]))
def test_the_verdict_is_the_compilers(schema: Any, order: Any) -> None:
    """On anything at all: malformed keywords, loops, references to nowhere."""
    options = JsonOptions(property_order=order)
    report = check_schema(schema, options=options)
    try:
        grammar = JsonSchemaGrammar(schema, options=options)
    except (mw.GrammarError, mw.LimitError):
        assert not report.is_ok
        return
    errors = [finding for finding in report.of("error") if finding.status != "too large"]
    assert errors == []
    assert report.size is not None
    assert grammar.rule(grammar.start) is not None
