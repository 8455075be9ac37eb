"""The shortcuts for plain schemas against the general way.

Plain subschemas are checked, found inhabited and written as rules without their canonical form.
With these shortcuts turned off every schema must give the same rules, or the same error.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.errors import MaskwrightError
from maskwright.grammar import ir
from maskwright.grammar.json_schema import JsonOptions, JsonSchemaGrammar

PACKAGE = "maskwright.grammar.json_schema"
CASES = json.loads((Path(__file__).parent / "cases" / "json_schema.json").read_text("utf-8"))
MOST_RULES = 60


@contextmanager
def general_way_only() -> Iterator[None]:
    with (
        patch(f"{PACKAGE}.grammar.quick_check", lambda sites, languages: None),
        patch(f"{PACKAGE}.plain_rules.PlainRules.expression", lambda self, site: None),
        patch(f"{PACKAGE}.quick_look.is_plainly_inhabited", lambda schema: False),
    ):
        yield


def rules_of(schema: Any, **options: Any) -> list[Any]:
    """The first rules that the start leads to, keys replaced by the order they come up in."""
    try:
        grammar = JsonSchemaGrammar(schema, options=JsonOptions(**options))
    except MaskwrightError as error:
        return [repr(error), str(error)]
    numbers: dict[ir.Key, int] = {grammar.start: 0}
    keys = [grammar.start]

    def plain(expr: Any) -> Any:
        if isinstance(expr, ir.Ref):
            if expr.key not in numbers:
                numbers[expr.key] = len(keys)
                keys.append(expr.key)
            return "Ref", numbers[expr.key]
        if isinstance(expr, ir.Sequence):
            return "Sequence", [plain(item) for item in expr.items]
        if isinstance(expr, ir.Choice):
            return "Choice", [plain(option) for option in expr.options]
        if isinstance(expr, ir.Repeat):
            return "Repeat", plain(expr.item), expr.min, expr.max, plain(expr.separator)
        if isinstance(expr, ir.Chain):
            items = [(plain(item.expr), item.required) for item in expr.items]
            return "Chain", items, plain(expr.separator), expr.rest and plain(expr.rest)
        return expr

    found: list[Any] = []
    while len(found) < min(len(keys), MOST_RULES):
        try:
            found.append(plain(grammar.rule(keys[len(found)])))
        except MaskwrightError as error:
            found.append(str(error))
    return found


def assert_same(schema: Any, **options: Any) -> None:
    quick = rules_of(schema, **options)
    with general_way_only():
        general = rules_of(schema, **options)
    assert quick == general


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases_are_the_same(case: dict[str, Any]) -> None:
    options = case.get("options", {})
    if "relax" in options:
        options = {**options, "relax": tuple(options["relax"])}
    assert_same(case["schema"], **options)


PLAIN: list[Any] = [
    {"type": "object", "properties": {"a": False, "b": True, "c": {}}, "required": ["b"]},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    {"type": "object", "required": ["b", "a", "b"], "properties": {"a": {"type": "null"}}},
    {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": False}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": ["object", "null"], "required": ["b"]}}},
    {"type": "object", "properties": {"é": {"enum": ["ü", "u", "u"]}, "e": {"enum": []}}},
    {"type": "object", "properties": {"a": {"enum": ["a", 1]}, "b": {"enum": list("abcdefghi")}}},
    {"type": "object", "properties": {"a": {"type": "integer", "enum": ["x"]}}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 1},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2.0, "maxItems": 0},
    {"type": "array", "items": [{"type": "integer"}], "additionalItems": False},
    {"type": "object", "properties": {"a": {"type": "string", "uniqueItems": True}}},
    {"type": "object", "properties": {"a": {"typ": "string", "pattern": "("}}},
    {"type": "object", "properties": {"a": {"type": "text"}, "b": {"minLength": -1}}},
    {"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"$ref": "#/x"}}},
    {"$ref": "#/definitions/a", "definitions": {"a": {"allOf": [{"$ref": "#/definitions/a"}]}}},
    {"$ref": "#/definitions/a", "definitions": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
    {"properties": {"a": {"$id": "http://x.org/a", "$ref": "#/b", "b": {"type": "null"}}}},
    {"properties": {"a": {"allOf": [{"oneOf": [{"type": "null"}, {"not": {"type": "null"}}]}]}}},
    {"properties": {"a": {"allOf": [{"not": {"patternProperties": {"a": {}, "b": False}}}]}}},
    {"properties": {"a": {"minProperties": 2}, "b": {"not": {"contains": {"minItems": 2}}}}},
]
DRAFTS = [None, "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema"]


@pytest.mark.parametrize("uri", DRAFTS)
@pytest.mark.parametrize("schema", PLAIN, ids=[json.dumps(schema)[:60] for schema in PLAIN])
def test_what_is_barely_plain_is_the_same(schema: Any, uri: str | None) -> None:
    schema = schema if uri is None else {"$schema": uri, **schema}
    assert_same(schema)
    assert_same(schema, whitespace="flexible", additional_properties="closed")
    assert_same(schema, whitespace="compact", relax=("type",))


types = st.sampled_from(["null", "boolean", "integer", "number", "string"])
names = st.sampled_from(["a", "b", "c"])
leaves = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": types}, optional={"title": st.just("t")}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["x", "y", 1, None]), max_size=3)}),
    st.fixed_dictionaries({"type": types, "enum": st.lists(st.sampled_from("xyz"), max_size=2)}),
    st.fixed_dictionaries({"type": types, "minLength": st.integers(0, 2)}),
    st.sampled_from([{"$ref": "#"}, {"$ref": "#/definitions/d"}, {"$ref": "#/none"}, {}]),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
            optional={
                "required": st.lists(names, max_size=2),
                "additionalProperties": inner,
                "patternProperties": st.dictionaries(st.sampled_from(["a", "["]), inner),
                "minProperties": st.integers(-1, 2),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)},
        ),
        st.fixed_dictionaries(
            {}, optional={"anyOf": branches, "allOf": branches, "oneOf": branches, "not": inner}
        ),
    )


@given(
    schema=st.recursive(leaves, nested, max_leaves=8),
    definition=st.recursive(leaves, nested, max_leaves=4),
)
def test_generated_schemas_are_the_same(schema: Any, definition: Any) -> None:
    if isinstance(schema, dict):
        schema = {**schema, "definitions": {"d": definition}}
    assert_same(schema)


def test_real_schemas_are_the_same(data_dir: Path) -> None:
    with gzip.open(data_dir / "maskbench" / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in islice(lines, 0, 1500, 7):
            assert_same(json.loads(line)["schema"])
