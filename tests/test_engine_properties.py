"""Generated schemas, values, tokenizations and histories: what is allowed is valid, and back."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
from effort import effort
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from maskwright.fsm.compiler import Compiler
from maskwright.fsm.matcher import Matcher
from maskwright.fsm.token_fsm import TokenFSM
from maskwright.fsm.vocabulary import Vocabulary


def _json_vocabulary() -> Vocabulary:
    """All bytes, and a few hundred tokens that JSON texts like."""
    quoted = [
        '{"',
        '["',
        '":',
        '": ',
        '":"',
        '": "',
        '","',
        '", "',
        '"}',
        '"]',
        '"},',
        '"}]',
        '""',
        '" ',
    ]
    signs = [
        "{}",
        "[]",
        "[[",
        "]]",
        "}}",
        "],",
        "},",
        ", ",
        ": ",
        ",\n",
        "{\n",
        "[\n",
        "\n  ",
        "\n    ",
        "  ",
    ]
    escapes = [
        "\\n",
        '\\"',
        "\\\\",
        "\\u",
        "\\u00",
        "\\u0041",
        "\\ud83d",
        "\\ude00",
        '\\"a',
        "a\\",
        "\\u00e9",
    ]
    words = [
        "true",
        "false",
        "null",
        " true",
        "tr",
        "ue",
        "fal",
        "nul",
        "1.5",
        "-1",
        "00",
        "12",
        "0.",
        "e+",
        "E-",
    ]
    names = [
        "aa",
        "ab",
        "ba",
        "abc",
        " a",
        "b ",
        "key",
        "name",
        "na",
        "me",
        "\u00e9",
        "\u20ac",
        "\u00e9a",
        "\U0001f600",
    ]
    glued = [a + b for a in ('a"', 'ab"', '\u00e9"', '\\n"') for b in (",", ": ", "}", ', "', "\n")]
    glued += (
        [name + '"' for name in names] + ['"' + name for name in names] + [f'"{n}"' for n in names]
    )
    pairs = [a + b for a in "abc01" for b in 'abc01"\\ ']
    pieces = [*quoted, *signs, *escapes, *words, *names, *glued, *pairs]
    tokens = [bytes((byte,)) for byte in range(256)] + [piece.encode() for piece in pieces]
    tokens += [
        b"\xf0\x9f",
        b"\x98\x80",
        b"\xc3",
        b'\xa9"',
        "\U0001f600".encode()[:3],
        b'"a":',
        b'"ab": ',
    ]
    return Vocabulary.from_tokens(
        [*tokens, b"a", b'"', b"<e>", b"</s>"], eos_ids=[len(tokens) + 2, len(tokens) + 3]
    )  # fmt: skip


VOCABULARY = _json_vocabulary()
BY_BYTES: dict[bytes, list[int]] = {}
for _token in range(VOCABULARY.size):
    if VOCABULARY.token_bytes(_token):
        BY_BYTES.setdefault(VOCABULARY.token_bytes(_token), []).append(_token)
LONGEST = max(map(len, BY_BYTES))
COMPILER = Compiler(VOCABULARY)
CLOSING = [
    token
    for data in (b'"', b"}", b"]", b"0", b"e", b"a", b",", b":", b" ")
    for token in BY_BYTES[data]
]


def split(
    data: bytes, rng: random.Random, by_bytes: dict[bytes, list[int]], longest: int
) -> list[int]:
    """A random tokenization."""
    tokens = []
    while data:
        sizes = [n for n in range(1, min(longest, len(data)) + 1) if data[:n] in by_bytes]
        size = rng.choice(sizes)
        tokens.append(rng.choice(by_bytes[data[:size]]))
        data = data[size:]
    return tokens


def walk(fsm: TokenFSM, rng: random.Random, budget: int = 30) -> bytes:
    """Random allowed tokens until an end is chosen; past the budget, ones that close."""
    matcher = fsm.matcher()
    eos = VOCABULARY.eos_ids
    for step in range(600):
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, ("dead end", VOCABULARY.join(matcher.tokens))
        texts = [token for token in allowed if token not in eos]
        if eos[0] in allowed and (not texts or step > budget or rng.random() < 0.3):
            assert matcher.accept(rng.choice(eos))
            return VOCABULARY.join(matcher.tokens)
        if step > budget:
            texts = [token for token in CLOSING if token in texts][:1] or texts
        assert matcher.accept(rng.choice(texts)), "the mask allows what accept refuses"
    assume(False)
    raise AssertionError


# ------------------------------------------------------------------- schemas and values

KEYS = ["a", "ab", "abc", "b", "key", "na me", "\u00e9", 'q"', "s\\", ""]
STRINGS = st.text(
    st.sampled_from('ab"\\/\n\t\x7f {\u00e9\u20ac\U0001f600')
    | st.characters(exclude_categories=["Cs"]),
    max_size=6,
)


@st.composite
def string_schemas(draw: st.DrawFn) -> tuple[Any, Any]:
    value = draw(STRINGS)
    schema: dict[str, Any] = {"type": "string"}
    if draw(st.booleans()):
        schema["minLength"] = draw(st.integers(0, len(value)))
    if draw(st.booleans()):
        schema["maxLength"] = draw(st.integers(len(value), len(value) + 4))
    return schema, value


def scalars() -> st.SearchStrategy[tuple[Any, Any]]:
    return st.one_of(
        st.booleans().map(lambda v: ({"type": "boolean"}, v)),
        st.just(({"type": "null"}, None)),
        st.integers(-999, 999).map(
            lambda v: ({"type": "integer", "minimum": v - 5, "maximum": v + 50}, v)
        ),
        st.integers(-(10**6), 10**6).map(lambda v: ({"type": "integer"}, v)),
        st.sampled_from([0.5, -1.25, 12.0, 1e3]).map(lambda v: ({"type": "number"}, v)),
        st.lists(STRINGS | st.integers(-9, 99), min_size=1, max_size=4).map(
            lambda v: ({"enum": v}, v[0])
        ),
        st.sampled_from(["aab", "ab", "aaabbb"]).map(
            lambda v: ({"type": "string", "pattern": "^a+b{1,3}$"}, v)
        ),
        string_schemas(),
    )


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    schema, value = draw(inner)
    size = draw(st.integers(0, 3))
    result: dict[str, Any] = {"type": "array", "items": schema}
    if draw(st.booleans()):
        result["minItems"] = draw(st.integers(0, size))
        result["maxItems"] = draw(st.integers(size, size + 2))
    return result, [value] * size


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4))
    properties, value, required = {}, {}, []
    for key in keys:
        properties[key], member = draw(inner)
        if draw(st.booleans()):
            value[key] = member
            if draw(st.booleans()):
                required.append(key)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    additional = draw(st.sampled_from(["none", "any", "schema"]))
    if additional == "none":
        schema["additionalProperties"] = False
    elif additional == "schema":
        rest, member = draw(inner)
        schema["additionalProperties"] = rest
        # Names that begin like declared ones, and ones that have to be escaped.
        extra = draw(
            st.lists(
                st.sampled_from(["abcd", "a\n", "x\u00e9", "ke", 'q"q']), unique=True, max_size=2
            )
        )
        value |= dict.fromkeys(extra, member)
    return schema, value  # fmt: skip


@st.composite
def alternatives(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    schema, value = draw(inner)
    other, _ = draw(inner)
    options = draw(st.permutations([schema, other]))
    return {"anyOf": options}, value


CASES = st.recursive(
    scalars(),
    lambda inner: st.one_of(arrays(inner), objects(inner), alternatives(inner)),
    max_leaves=6,
)


def dumps(value: Any, rng: random.Random) -> str:
    ensure_ascii = rng.random() < 0.3
    style = rng.choice(["default", "compact", 1, 2, 4])
    if style == "compact":
        return json.dumps(value, ensure_ascii=ensure_ascii, separators=(",", ":"))
    indent = style if isinstance(style, int) else None
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


@given(CASES, st.randoms(use_true_random=False))
def test_valid_values_are_accepted_in_any_tokenization(
    case: tuple[Any, Any], rng: random.Random
) -> None:
    schema, value = case
    fsm = COMPILER.json_schema(schema)
    for _ in range(2):
        text = dumps(value, rng).encode()
        tokens = split(text, rng, BY_BYTES, LONGEST)
        matcher = fsm.matcher()
        for position, token in enumerate(tokens):
            # The mask of every second place is never computed: moves do not need it.
            if position % 2:
                assert token in matcher.allowed_tokens(), (schema, text, position)
            assert matcher.accept(token), (schema, text, position)
        assert matcher.is_accepting(), (schema, text)
        assert matcher.accept(rng.choice(VOCABULARY.eos_ids))


@given(CASES, st.randoms(use_true_random=False))
def test_whatever_tokens_are_chosen_the_text_is_valid(
    case: tuple[Any, Any], rng: random.Random
) -> None:
    schema, _ = case
    fsm = COMPILER.json_schema(schema)
    for _ in range(3):
        text = walk(fsm, rng).decode()
        value = json.loads(text)
        assert Draft202012Validator(schema).is_valid(value), (schema, text)
        assert jsonschema_rs.is_valid(schema, value), (schema, text)


@given(CASES, st.randoms(use_true_random=False))
@effort(40)
def test_masks_are_what_accept_takes_and_do_not_depend_on_the_tokenization(
    case: tuple[Any, Any], rng: random.Random
) -> None:
    schema, value = case
    fsm = COMPILER.json_schema(schema)
    text = dumps(value, rng).encode()
    cut = rng.randrange(len(text) + 1)
    one, other = fsm.matcher(), Compiler(VOCABULARY).json_schema(schema).matcher()
    tokens = split(text[:cut], rng, BY_BYTES, LONGEST)
    assert one.accept_all(tokens) == len(tokens)
    # The other one makes its masks in the order of the text, on tables of its own.
    for token in split(text[:cut], rng, BY_BYTES, LONGEST):
        other.allowed_tokens()
        assert other.accept(token)
    allowed = one.allowed_tokens().tolist()
    assert other.allowed_tokens().tolist() == allowed
    taken = []
    for token in range(VOCABULARY.size):
        if one.accept(token):
            taken.append(token)
            one.rollback(1)
    assert taken == allowed


@given(CASES, st.lists(st.integers(0, 5), max_size=25), st.randoms(use_true_random=False))
@effort(50)
def test_histories_with_rollbacks_forks_and_resets_end_like_fresh_ones(
    case: tuple[Any, Any], moves: list[int], rng: random.Random
) -> None:
    fsm = COMPILER.json_schema(case[0])
    matcher = fsm.matcher()
    others: list[tuple[Matcher, tuple[int, ...]]] = []
    bits = np.zeros((1, (VOCABULARY.size + 31) // 32), np.int32)
    for move in moves:
        if move <= 2:
            allowed = matcher.allowed_tokens().tolist()
            if allowed:
                assert matcher.accept(rng.choice(allowed))
            else:
                assert matcher.is_done
        elif move == 3:
            matcher.rollback(rng.randint(0, len(matcher.tokens)))
        elif move == 4:
            others.append((matcher, matcher.tokens))
            matcher = matcher.fork()
        elif others and rng.random() < 0.5:
            matcher = rng.choice(others)[0].fork()
        elif rng.random() < 0.3:
            matcher.reset()
            assert matcher.tokens == ()
    for kept, tokens in [*others, (matcher, matcher.tokens)]:
        assert kept.tokens == tokens
        fresh = fsm.matcher()
        assert fresh.accept_all(tokens) == len(tokens)
        assert fresh.is_done == kept.is_done
        assert fresh.is_accepting() == kept.is_accepting()
        kept.fill_bitmask(bits)
        expected = bits.copy()
        fresh.fill_bitmask(bits)
        assert (bits == expected).all()


@given(CASES, st.randoms(use_true_random=False))
@effort(40)
def test_a_byte_changed_is_refused_or_the_text_still_valid(
    case: tuple[Any, Any], rng: random.Random
) -> None:
    schema, value = case
    matcher = COMPILER.json_schema(schema).matcher()
    text = bytearray(dumps(value, rng).encode())
    for _ in range(5):
        changed = text.copy()
        changed[rng.randrange(len(text))] = rng.choice(b'"\\ab01{}[],: ')
        matcher.reset()
        tokens = split(bytes(changed), rng, BY_BYTES, LONGEST)
        if matcher.accept_all(tokens) == len(tokens) and matcher.is_accepting():
            parsed = json.loads(changed.decode())
            assert jsonschema_rs.is_valid(schema, parsed), (schema, bytes(changed))


# ------------------------------------------------------------------------- real tokenizer


@pytest.fixture(scope="module")
def llama(data_dir: Path) -> tuple[Compiler, dict[bytes, list[int]]]:
    tokenizers = pytest.importorskip("tokenizers")
    path = data_dir / "tokenizers" / "llama3_1" / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"no tokenizer at {path}")
    vocabulary = Vocabulary.from_tokenizer(tokenizers.Tokenizer.from_file(str(path)))
    by_bytes: dict[bytes, list[int]] = {}
    for token in vocabulary.sorted_ids.tolist():
        by_bytes.setdefault(vocabulary.token_bytes(token), []).append(token)
    return Compiler(vocabulary), by_bytes


LONG = "a" * 70
REAL: list[tuple[Any, list[Any]]] = [
    (
        {"type": "string"},
        ["", "\U0001f600\U0001f468\u200d\U0001f469", 'q"\\/\b\f\n\r\t\x00\x7f', "\u65e5\u672c" * 9],
    ),
    # Bounds on both sides of what the longest token can write.
    (
        {"type": "string", "minLength": 2, "maxLength": 3},
        ["ab", "\U0001f600\U0001f600\U0001f600", "\n\u00e9"],
    ),
    ({"type": "string", "maxLength": 140}, ["", LONG, LONG * 2]),
    ({"type": "string", "minLength": 130, "maxLength": 131}, [LONG + "b" * 60, "\u00e9" * 131]),
    ({"type": "string", "minLength": 257}, ["=" * 257, " " * 400]),
    ({"type": "string", "pattern": "^[a-z]{3}(-[0-9]+)*$"}, ["abc", "abc-1-22"]),
    ({"type": "string", "pattern": "^\\p{L}+$"}, ["\u00e9t\u00e9", "\u65e5\u672c\u8a9e"]),
    (
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "named": {"type": "null"},
                "\u00e9": {"type": "integer"},
            },
            "additionalProperties": {"type": "boolean"},
        },
        [
            {"name": "x", "names": True},
            {"nam": False, "": True, "name\u00e9": True},
            {"\u00e9": 1, "\u00e9e": True},
        ],
    ),
    (
        {"type": "array", "items": {"enum": ["red", "reddish", "re\U0001f600"]}},
        [["red", "reddish", "re\U0001f600"]],
    ),
]


def probe_mask(matcher: Matcher, allowed: Any, size: int, rng: random.Random) -> None:
    """Compare a sample of a mask, set bits and clear ones, with what is accepted."""
    probes = [rng.randrange(size) for _ in range(25)]
    probes += [int(allowed[rng.randrange(len(allowed))]) for _ in range(25)]
    for probe in probes:
        taken = matcher.accept(probe)
        if taken:
            matcher.rollback(1)
        index = int(np.searchsorted(allowed, probe))
        listed = index < len(allowed) and allowed[index] == probe
        assert taken == listed, (matcher.tokens, probe)


@pytest.mark.parametrize("number", range(len(REAL)))
def test_the_same_with_a_real_tokenizer(
    llama: tuple[Compiler, dict[bytes, list[int]]], number: int
) -> None:
    compiler, by_bytes = llama
    vocabulary = compiler.vocabulary
    schema, values = REAL[number]
    fsm = compiler.json_schema(schema)
    rng = random.Random(number)
    validator = jsonschema_rs.Draft202012Validator(schema)
    for value in values:
        assert validator.is_valid(value)
        for ensure_ascii in (False, True):
            text = json.dumps(value, ensure_ascii=ensure_ascii)
            matcher = fsm.matcher()
            assert vocabulary.encode is not None
            for tokens in (vocabulary.encode(text), split(text.encode(), rng, by_bytes, 128)):
                matcher.reset()
                checked = set(rng.sample(range(len(tokens)), min(6, len(tokens))))
                for position, token in enumerate(tokens):
                    if position in checked:
                        allowed = matcher.allowed_tokens()
                        assert (allowed == token).any(), (text, matcher.tokens, token)
                        probe_mask(matcher, allowed, vocabulary.size, rng)
                    assert matcher.accept(token), (text, matcher.tokens, token)
                assert matcher.is_accepting()


@pytest.mark.parametrize("longest", [0, 5, 128, 129])
def test_length_bounds_with_a_real_tokenizer_are_exact(
    llama: tuple[Compiler, dict[bytes, list[int]]], longest: int
) -> None:
    # All tokens, one after the opening quote: those allowed are those that fit the bounds.
    compiler, by_bytes = llama
    fsm = compiler.json_schema(
        {"type": "string", "minLength": min(longest, 3), "maxLength": longest}
    )
    matcher = fsm.matcher()
    assert matcher.accept(by_bytes[b'"'][0])
    allowed = set(matcher.allowed_tokens().tolist())
    taken = set()
    for token in range(compiler.vocabulary.size):
        if matcher.accept(token):
            taken.add(token)
            matcher.rollback(1)
    assert taken == allowed
    for token in allowed:
        data = compiler.vocabulary.token_bytes(token)
        if b'"' not in data and b"\\" not in data:
            assert len(data.decode("utf-8", "ignore")) <= longest
