"""JSON Schema grammars against what schemas mean.

Cases are data (``cases/json_schema.json``). Generated schemas are compared with the jsonschema
library in both directions, and texts drawn from the rules themselves must satisfy the schema.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from effort import effort
from exact_json import exact_loads
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from ir_reference import matches
from jsonschema.validators import Draft202012Validator
from official_suite import DOCUMENT, DRAFTS, verdicts, with_tables

from maskwright import errors
from maskwright.errors import GrammarError, LimitError, UnsatisfiableError, UnsupportedSchemaError
from maskwright.grammar import ir
from maskwright.grammar.json_schema import JsonOptions, JsonSchemaGrammar

CASES = json.loads((Path(__file__).parent / "cases" / "json_schema.json").read_text("utf-8"))


def grammar_of(schema: Any, **options: Any) -> JsonSchemaGrammar:
    if "relax" in options:
        options["relax"] = tuple(options["relax"])
    return JsonSchemaGrammar(schema, options=JsonOptions(**options))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    options = case.get("options", {})
    if "error" in case:
        with pytest.raises(GrammarError) as caught:
            grammar_of(case["schema"], **options)
        assert type(caught.value) is getattr(errors, case["error"])
        if "pointer" in case:
            assert caught.value.pointer == case["pointer"]
        return
    grammar = grammar_of(case["schema"], **options)
    accepted = {text: matches(grammar, text.encode()) for text in case["accept"] + case["reject"]}
    assert accepted == {text: text in case["accept"] for text in accepted}


# ---------------------------------------------------------------- generated schemas

NAMES = ["a", "b", "c"]

scalars = st.sampled_from([None, True, False, 0, 1, 2, -1, 1.5, "", "a", "ab", "b"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "x"]), inner, max_size=3).map(
            lambda value: {name: value[name] for name in [*NAMES, "x"] if name in value}
        )
    ),
    max_leaves=6,
)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
simple = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": types}),
    st.fixed_dictionaries({"type": st.lists(types, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(values, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": values}),
    st.fixed_dictionaries({}, optional={"minLength": st.integers(0, 2), "pattern": st.just("^a")}),
    st.fixed_dictionaries(
        {}, optional={"minimum": st.integers(-1, 2), "exclusiveMaximum": st.integers(0, 2)}
    ),
)


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(
        lambda found: {name: found[name] for name in NAMES if name in found}
    )
    required = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(sorted)
    objects = st.fixed_dictionaries(
        {"properties": named},
        optional={
            "type": st.just("object"),
            "required": required,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "[bx]"]), inner, max_size=2),
            "minProperties": st.integers(0, 1),
            "maxProperties": st.integers(0, 2),
            "dependentRequired": st.dictionaries(st.sampled_from(NAMES), required, max_size=1),
        },
    )
    arrays = st.fixed_dictionaries(
        {"items": inner},
        optional={
            "type": st.just("array"),
            "prefixItems": some,
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 3),
            "contains": inner,
        },
    )
    in_place = st.fixed_dictionaries(
        {},
        optional={
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    )
    return objects | arrays | in_place


schemas = st.recursive(simple, compound, max_leaves=6)
thorough = effort(
    200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def build(schema: Any) -> JsonSchemaGrammar | None:
    """The grammar, or ``None`` if nothing satisfies the schema; skips what is refused."""
    try:
        return JsonSchemaGrammar(schema)
    except UnsatisfiableError:
        return None
    except (UnsupportedSchemaError, LimitError):
        assume(False)
        raise AssertionError from None


@thorough
@given(schema=schemas, instances=st.lists(values, min_size=4, max_size=8))
def test_nothing_that_violates_a_schema_is_accepted(schema: Any, instances: list[Any]) -> None:
    grammar = build(schema)
    validator = Draft202012Validator(schema)
    for value in instances:
        if not validator.is_valid(value):
            assert grammar is None or not matches(grammar, json.dumps(value).encode())


@thorough
@given(schema=schemas, instances=st.lists(values, min_size=4, max_size=8))
def test_what_satisfies_a_schema_is_accepted(schema: Any, instances: list[Any]) -> None:
    grammar = build(schema)
    validator = Draft202012Validator(schema)
    for value in instances:
        if validator.is_valid(value):
            assert grammar is not None
            # Tails (counts, obligations) have an order that the matcher cannot leave aside.
            if not _has_tails(schema) or not _has_long_object(value):
                assert matches(grammar, json.dumps(value, indent=2).encode(), ordered=False)


def _has_tails(schema: Any) -> bool:
    text = json.dumps(schema)
    keywords = ("minProperties", "maxProperties", "not", "oneOf", "if")
    return any(f'"{keyword}"' in text for keyword in keywords)


def _has_long_object(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) > 1 or any(map(_has_long_object, value.values()))
    return isinstance(value, list) and any(map(_has_long_object, value))


class _TooLong(Exception):
    pass


def sample(grammar: JsonSchemaGrammar, rng: random.Random) -> str:
    """A random text of a grammar, drawn from its rules; gives up on long ones."""
    budget = 400

    def draw(expr: ir.Expr) -> str:
        nonlocal budget
        budget -= 1
        if budget < 0:
            raise _TooLong
        if isinstance(expr, ir.Ref):
            return draw(grammar.rule(expr.key))
        if isinstance(expr, ir.Literal):
            return expr.data.decode()
        if isinstance(expr, ir.TextLexeme):
            shortest = expr.language.shortest()
            assert shortest is not None
            return shortest
        if isinstance(expr, ir.StringLexeme):
            shortest = expr.language.shortest()
            assert shortest is not None
            return json.dumps(shortest)
        if isinstance(expr, ir.CountedString):
            return json.dumps("é" * expr.min)
        if isinstance(expr, ir.UndeclaredKey):
            return json.dumps(next(c for c in "uvwxyz" if c not in expr.declared))
        if isinstance(expr, ir.Sequence):
            return "".join(map(draw, expr.items))
        if isinstance(expr, ir.Choice):
            return draw(rng.choice(expr.options))
        if isinstance(expr, ir.Repeat):
            most = expr.min + 2 if expr.max is None else min(expr.max, expr.min + 2)
            pieces = [draw(expr.item) for _ in range(rng.randint(expr.min, most))]
            return draw(expr.separator).join(pieces)
        assert isinstance(expr, ir.Chain)
        pieces = [draw(item.expr) for item in expr.items if item.required or rng.random() < 0.5]
        if expr.rest is not None and rng.random() < 0.3:
            pieces.append(draw(expr.rest))
        return draw(expr.separator).join(pieces)

    return draw(ir.Ref(grammar.start))


@thorough
@given(schema=schemas, seed=st.integers(0, 1000))
def test_texts_drawn_from_the_rules_satisfy_the_schema(schema: Any, seed: int) -> None:
    grammar = build(schema)
    assume(grammar is not None)
    assert grammar is not None
    assume(not grammar.captures)  # the sampler cannot follow values
    rng = random.Random(seed)
    validator = Draft202012Validator(schema)
    for _ in range(5):
        try:
            text = sample(grammar, rng)
        except _TooLong:
            continue
        assert validator.is_valid(exact_loads(text)), text
        assert matches(grammar, text.encode())


# ---------------------------------------------------------------- scale


def test_only_the_visited_part_of_a_large_schema_is_expanded() -> None:
    n = 4000
    schema = {
        "$ref": "#/$defs/t0",
        "$defs": {
            f"t{i}": {
                "type": "object",
                "properties": {
                    "next": {"$ref": f"#/$defs/t{(i + 1) % n}"},
                    "skip": {"$ref": f"#/$defs/t{(7 * i + 3) % n}"},
                },
            }
            for i in range(n)
        },
    }
    grammar = JsonSchemaGrammar(schema)
    assert matches(grammar, b'{"next":{"skip":{}}}')
    assert not matches(grammar, b'{"next":1}')
    assert len(grammar._bodies) < 20


def test_mutual_requirements_of_thousands_of_definitions() -> None:
    n = 3000
    definitions: dict[str, Any] = {
        f"t{i}": {
            "type": "object",
            "properties": {"n": {"$ref": f"#/$defs/t{(i + 1) % n}"}},
            "required": ["n"],
        }
        for i in range(n)
    }
    with pytest.raises(UnsatisfiableError, match="without end"):
        JsonSchemaGrammar({"$ref": "#/$defs/t0", "$defs": definitions})
    definitions[f"t{n // 2}"]["required"] = []
    JsonSchemaGrammar({"$ref": "#/$defs/t0", "$defs": definitions})


@pytest.mark.parametrize("keyword", ["properties", "items", "anyOf", "oneOf", "not", "allOf"])
def test_deep_nesting(keyword: str) -> None:
    schema: Any = {"type": "integer"}
    for _ in range(600):
        if keyword == "properties":
            schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        elif keyword in ("items", "not"):
            schema = {keyword: schema}
        else:
            schema = {keyword: [schema, {"type": "integer"}][: 1 if keyword == "oneOf" else 2]}
    grammar = JsonSchemaGrammar(schema)
    assert isinstance(grammar.rule(grammar.start), ir.Expr)


def test_large_enums_are_one_lexeme() -> None:
    names = [f"value{i}" for i in range(10_000)]
    started = time.perf_counter()
    grammar = JsonSchemaGrammar({"type": "string", "enum": names})
    body = grammar.rule(grammar.start)
    assert isinstance(body, ir.StringLexeme)
    assert body.language.accepts("value77")
    assert not body.language.accepts("value10000")
    assert time.perf_counter() - started < 2


def test_a_oneof_of_many_tagged_objects_is_a_choice() -> None:
    branches = [
        {"type": "object", "properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}
        for i in range(300)
    ]
    grammar = JsonSchemaGrammar({"oneOf": branches})
    assert matches(grammar, b'{"kind":"k299"}')
    assert not matches(grammar, b'{"kind":"k300"}')


def test_explosions_stop_at_a_limit() -> None:
    branches = [
        {"type": "object", "properties": {f"p{i}{j}": {"type": "integer"} for j in range(6)}}
        for i in range(12)
    ]
    with pytest.raises(LimitError) as caught:
        JsonSchemaGrammar({"oneOf": branches})
    assert caught.value.limit == "alternatives"


def test_automata_are_shared_through_the_cache() -> None:
    cache: dict[Any, Any] = {}
    bodies = []
    for _ in range(2):
        grammar = JsonSchemaGrammar({"type": "string", "pattern": "^a+b$"}, cache=cache)
        bodies.append(grammar.rule(grammar.start))
    assert isinstance(bodies[0], ir.StringLexeme)
    assert isinstance(bodies[1], ir.StringLexeme)
    assert bodies[0].language is bodies[1].language


def test_relaxed_keywords_are_listed() -> None:
    grammar = grammar_of({"items": {"uniqueItems": True}}, relax=["uniqueItems"])
    assert grammar.diagnostics == ("dropped as relax asks: #/items/uniqueItems",)


def test_other_documents_come_from_the_registry() -> None:
    import referencing
    from referencing.jsonschema import DRAFT202012

    resource = DRAFT202012.create_resource({"$defs": {"n": {"type": "null"}}})
    registry = referencing.Registry().with_resource("http://example.org/d.json", resource)
    schema = {"items": {"$ref": "http://example.org/d.json#/$defs/n"}, "type": "array"}
    grammar = JsonSchemaGrammar(schema, registry=registry)
    assert matches(grammar, b"[null]")
    assert not matches(grammar, b"[1]")


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("order", ["any", "schema"])
def test_official_suite_is_never_wrongly_accepted(
    draft: str, order: Literal["any", "schema"], data_dir: Path
) -> None:
    found = verdicts(data_dir / "json-schema-test-suite", draft, order)
    assert [verdict for verdict in found if verdict.outcome == "loose"] == []
    strict = [verdict for verdict in found if verdict.outcome == "strict"]
    assert [verdict for verdict in strict if verdict.error] == []  # said to be unsatisfiable
    assert sum(verdict.outcome == "right" for verdict in found) >= 0.98 * len(found) > 500


def test_the_documents_tables_are_those_of_the_official_suite(data_dir: Path) -> None:
    document = DOCUMENT.read_text("utf-8")
    assert with_tables(document, data_dir / "json-schema-test-suite") == document


@pytest.mark.parametrize(
    "strings",
    [
        {"pattern": "^(\\S+\\s){0,99}\\S+$", "maxLength": 5000},
        {"pattern": "^(\\S+\\s){0,99}\\S+$", "minLength": 5000.0},
        {"pattern": "^[a-z]{2,300000}$"},
        {"format": "uri", "maxLength": 60_000},
    ],
)
def test_strings_too_large_to_count_are_an_error_of_the_schema(strings: dict[str, Any]) -> None:
    # Not of a mask: the property is optional, and nothing has asked for it yet.
    schema = {"properties": {"a": {"items": {"type": "string", **strings}}}}
    with pytest.raises(LimitError) as caught:
        JsonSchemaGrammar(schema)
    assert repr(strings.get("pattern", strings.get("format"))) in str(caught.value)


@pytest.mark.parametrize(
    "strings",
    [
        {"format": "uri", "minLength": 1, "maxLength": 2083},
        {"format": "date-time", "maxLength": 255},
        {"pattern": "^data:[a-z]*;base64,[0-9a-zA-Z+/=]*$", "maxLength": 32767},
    ],
)
def test_usual_lengths_of_patterns_and_formats_are_counted(strings: dict[str, Any]) -> None:
    JsonSchemaGrammar({"properties": {"a": {"type": "string", **strings}}})
