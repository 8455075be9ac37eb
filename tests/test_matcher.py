"""The matcher's interface: moves, masks into foreign arrays, forced tokens, threads, limits."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskwright.errors import BitmaskError, LimitError, TokenRejectedError, UnsatisfiableError
from maskwright.fsm.compiler import Compiler
from maskwright.fsm.matcher import Matcher, fill_bitmasks
from maskwright.fsm.token_fsm import DEAD
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar import ir
from maskwright.grammar.json_schema import JsonOptions
from maskwright.grammar.static import StaticGrammar
from maskwright.limits import Limits

LETTERS = [bytes((byte,)) for byte in range(0x20, 0x7F)]
PIECES = [
    b'{"',
    b'":',
    b'": ',
    b'",',
    b'", "',
    b'"}',
    b"true",
    b"false",
    b"null",
    b"aa",
    b"ab",
    b"[[",
    b"]]",
]
TOKENS: list[bytes | None] = [b"<s>", *LETTERS, *PIECES, None, b"<e>", b"a", b"</s>"]  # fmt: skip
END, OTHER_END = len(TOKENS) - 3, len(TOKENS) - 1
VOCABULARY = Vocabulary.from_tokens(TOKENS, eos_ids=[END, OTHER_END], special_ids=[0])
SIZE = VOCABULARY.size
WORDS = (SIZE + 31) // 32


def ids(text: bytes) -> list[int]:
    """One token a byte."""
    return [TOKENS.index(bytes((byte,))) for byte in text]


def matcher_of(pattern: str, compiler: Compiler | None = None) -> Matcher:
    return (compiler or Compiler(VOCABULARY)).regex(pattern).matcher()


def filled(matcher: Matcher) -> list[int]:
    bits = np.full((1, WORDS), -1, np.int32)
    matcher.fill_bitmask(bits)
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.jit_off
def test_a_sequence_from_start_to_end() -> None:
    matcher = matcher_of("ab|aba")
    assert matcher.tokens == ()
    assert not matcher.is_accepting()
    assert matcher.accept_all(ids(b"ab")) == 2
    assert matcher.is_accepting()
    assert not matcher.is_done
    assert set(filled(matcher)) == {*ids(b"a"), SIZE - 2, END, OTHER_END}
    assert matcher.accept(OTHER_END)
    assert matcher.is_done
    assert matcher.is_accepting()
    assert matcher.tokens == (*ids(b"ab"), OTHER_END)


@pytest.mark.jit_off
def test_after_an_end_nothing_is_allowed_until_it_is_taken_back() -> None:
    matcher = matcher_of("a")
    matcher.accept_all([*ids(b"a"), END])
    assert filled(matcher) == []
    assert matcher.allowed_tokens().tolist() == []
    assert matcher.forced_tokens() == []
    assert not any(matcher.accept(token) for token in range(SIZE))
    assert matcher.fork().is_done
    matcher.rollback(1)
    assert filled(matcher) == [END, OTHER_END]


@pytest.mark.jit_off
def test_a_token_that_is_not_allowed_changes_nothing() -> None:
    matcher = matcher_of("ab")
    matcher.accept(ids(b"a")[0])
    for token in (0, END, TOKENS.index(None), *ids(b"xa"), TOKENS.index(b"ab")):
        assert not matcher.accept(token)
    assert matcher.tokens == tuple(ids(b"a"))
    assert filled(matcher) == ids(b"b")


@pytest.mark.jit_off
def test_accept_all_stops_at_the_first_token_that_is_not_allowed() -> None:
    matcher = matcher_of("aaab?")
    assert matcher.accept_all(ids(b"aaxb")) == 2
    assert matcher.tokens == tuple(ids(b"aa"))
    assert matcher.accept_all([]) == 0


@pytest.mark.jit_off
@pytest.mark.parametrize("token", [-1, SIZE, 2**40])
def test_an_id_outside_the_vocabulary_is_an_error(token: int) -> None:
    matcher = matcher_of("a*")
    matcher.accept_all(ids(b"aa"))
    with pytest.raises(TokenRejectedError) as caught:
        matcher.accept(token)
    assert caught.value.token_id == token
    assert caught.value.position == 2
    assert matcher.tokens == tuple(ids(b"aa"))


@pytest.mark.jit_off
def test_ids_and_rows_are_integers_of_any_type_and_nothing_else() -> None:
    matcher = matcher_of("ab")
    bits = np.zeros((2, WORDS), np.int32)
    assert matcher.accept(np.int64(ids(b"a")[0]))
    matcher.fill_bitmask(bits, np.int32(1))
    assert matcher.tokens == tuple(ids(b"a"))
    assert bits[1].any()
    for value in (1.0, "1", None):
        with pytest.raises(TypeError):
            matcher.accept(value)
        with pytest.raises(TypeError):
            matcher.fill_bitmask(bits, value)
    assert matcher.tokens == tuple(ids(b"a"))


@pytest.mark.jit_off
def test_rollback_takes_back_exactly_what_was_accepted() -> None:
    matcher = matcher_of("[ab]*")
    masks = [filled(matcher)]
    for token in ids(b"abab"):
        matcher.accept(token)
        masks.append(filled(matcher))
    matcher.rollback(0)
    assert len(matcher.tokens) == 4
    for count in (1, 3):
        matcher.rollback(count)
        assert filled(matcher) == masks[len(matcher.tokens)]
    for count in (1, -1):
        with pytest.raises(ValueError, match="roll back"):
            matcher.rollback(count)


@pytest.mark.jit_off
def test_forks_and_resets_are_independent() -> None:
    matcher = matcher_of("a(b|c)")
    matcher.accept_all(ids(b"a"))
    other = matcher.fork()
    assert other.fsm is matcher.fsm
    other.accept_all(ids(b"b"))
    matcher.reset()
    assert matcher.tokens == ()
    assert filled(matcher) == filled(other.fsm.matcher())
    assert other.tokens == tuple(ids(b"ab"))
    assert other.is_accepting()


@pytest.mark.jit_off
def test_allowed_tokens_are_the_bits_of_the_mask() -> None:
    matcher = matcher_of("(ab)*")
    allowed = matcher.allowed_tokens()
    assert allowed.dtype == np.int32
    assert allowed.tolist() == filled(matcher)
    assert set(allowed.tolist()) == {*ids(b"a"), TOKENS.index(b"ab"), SIZE - 2, END, OTHER_END}


# ------------------------------------------------------------------------------ bitmasks


@pytest.mark.jit_off
def test_only_the_row_asked_for_is_written() -> None:
    matcher = matcher_of("a")
    bits = np.full((3, WORDS), -1, np.int32)
    matcher.fill_bitmask(bits, 1)
    assert (bits[[0, 2]] == -1).all()
    one = np.empty(WORDS, np.int32)
    matcher.fill_bitmask(one)
    assert (one == bits[1]).all()
    # The same array again, elsewhere, and another one of the same shape.
    matcher.fill_bitmask(bits, 2)
    again = np.zeros((3, WORDS), np.int32)
    matcher.fill_bitmask(again, 2)
    assert (again[2] == one).all()
    assert (bits[2] == one).all()
    assert not again[:2].any()


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("make", "row", "message"),
    [
        (lambda: np.zeros((2, WORDS), np.int64), 0, "int32"),
        (lambda: np.zeros((2, WORDS), np.uint32), 0, "int32"),
        (lambda: np.zeros((2, WORDS), ">i4"), 0, "int32"),
        (lambda: [[0] * WORDS], 0, "int32"),
        (lambda: None, 0, "int32"),
        (lambda: np.zeros((2, WORDS + 1), np.int32), 0, "shape"),
        (lambda: np.zeros((2, WORDS - 1), np.int32), 0, "shape"),
        (lambda: np.zeros((1, 2, WORDS), np.int32), 0, "shape"),
        (lambda: np.zeros((), np.int32), 0, "shape"),
        (lambda: np.zeros((2, 2 * WORDS), np.int32)[:, ::2], 0, "contiguous"),
        (lambda: np.zeros((2, 2 * WORDS), np.int32)[:, :WORDS], 0, "contiguous"),
        (lambda: np.zeros((WORDS, 2), np.int32).T, 0, "contiguous"),
        (lambda: np.broadcast_to(np.zeros(WORDS, np.int32), (2, WORDS)), 0, "contiguous|read-only"),
        (lambda: np.frombuffer(bytes(4 * WORDS), np.int32), 0, "read-only"),
        (lambda: np.zeros((2, WORDS), np.int32), 2, "row"),
        (lambda: np.zeros((2, WORDS), np.int32), -1, "row"),
        (lambda: np.zeros((0, WORDS), np.int32), 0, "row"),
        (lambda: np.zeros(WORDS, np.int32), 1, "row"),
    ],
)
def test_a_bitmask_that_does_not_fit_is_an_error(
    make: Callable[[], Any], row: int, message: str
) -> None:
    matcher = matcher_of("a")
    with pytest.raises(BitmaskError, match=message):
        matcher.fill_bitmask(make(), row)
    if row == 0:
        with pytest.raises(BitmaskError):
            fill_bitmasks([matcher], make())


def test_torch_tensors_are_filled_in_place() -> None:
    torch = pytest.importorskip("torch")
    matcher = matcher_of("a*")
    bits = torch.zeros((2, WORDS), dtype=torch.int32)
    matcher.fill_bitmask(bits, 1)
    assert not bits[0].any()
    expected = np.zeros(WORDS, np.int32)
    matcher.fill_bitmask(expected)
    assert bits[1].tolist() == expected.tolist()
    for wrong, message in (
        (torch.zeros((2, WORDS)), "int32"),
        (torch.zeros((2, WORDS), dtype=torch.int64), "int32"),
        (torch.zeros((2, WORDS + 1), dtype=torch.int32), "shape"),
        (torch.zeros((WORDS, 2), dtype=torch.int32).T, "contiguous"),
        (torch.zeros((2, WORDS), dtype=torch.int32, device="meta"), "memory"),
    ):
        with pytest.raises(BitmaskError, match=message):
            matcher.fill_bitmask(wrong)


def test_a_tensor_that_moves_is_followed() -> None:
    torch = pytest.importorskip("torch")
    matcher = matcher_of("a*")
    bits = torch.zeros((1, WORDS), dtype=torch.int32)
    matcher.fill_bitmask(bits)
    expected = bits[0].tolist()
    bits.set_(torch.zeros((1, WORDS), dtype=torch.int32))
    matcher.fill_bitmask(bits)
    assert bits[0].tolist() == expected
    bits.set_(torch.zeros((1, WORDS + 1), dtype=torch.int32))
    with pytest.raises(BitmaskError, match="shape"):
        matcher.fill_bitmask(bits)


def test_one_call_fills_masks_of_many_grammars_and_compilers() -> None:
    compilers = [Compiler(VOCABULARY), Compiler(VOCABULARY)]
    matchers = [
        compiler.regex(pattern).matcher()
        for pattern in ("a*", "ab", "[^x]+", "b?")
        for compiler in compilers
    ]
    schema = {"type": "object", "properties": {"ab": {"type": "boolean"}}}
    matchers += [compiler.json_schema(schema).matcher() for compiler in compilers]
    matchers[-1].accept_all(ids(b'{"a'))
    matchers[0].accept_all([*ids(b"a"), END])
    matchers += [matchers[-1].fork(), matchers[0].fork()]
    bits = np.full((len(matchers) + 2, WORDS), 7, np.int32)
    fill_bitmasks(matchers, bits)
    for row, matcher in enumerate(matchers):
        one = np.zeros(WORDS, np.int32)
        matcher.fill_bitmask(one)
        assert bits[row].tolist() == one.tolist()
    assert (bits[len(matchers) :] == 7).all()
    fill_bitmasks([], None)


@pytest.mark.jit_off
def test_a_batch_that_does_not_fit_is_an_error() -> None:
    matchers = [matcher_of("a"), matcher_of("b")]
    with pytest.raises(BitmaskError, match="2 matchers"):
        fill_bitmasks(matchers, np.zeros((1, WORDS), np.int32))
    wider = Compiler(Vocabulary.from_tokens(TOKENS, eos_ids=[END], size=SIZE + 64))
    with pytest.raises(BitmaskError, match="matcher 1"):
        fill_bitmasks([matchers[0], matcher_of("a", wider)], np.zeros((2, WORDS), np.int32))


# --------------------------------------------------------------------- forced tokens


def test_without_a_tokenizer_nothing_is_forced() -> None:
    assert matcher_of("abc").forced_tokens() == []


def test_forced_bytes_stop_where_the_text_may_end_or_branch() -> None:
    fsm = Compiler(VOCABULARY).regex("abc(de)?|abcx")
    data, node = fsm.forced_bytes(fsm.start)
    assert data == b"abc"
    assert fsm.is_accepting(node)
    assert fsm.forced_bytes(node) == (b"", node)
    recursive = StaticGrammar({"a": ir.Sequence((ir.Literal(b"a" * 100), ir.Literal(b"b")))}, "a")
    fsm = Compiler(VOCABULARY).grammar(recursive)
    assert fsm.forced_bytes(fsm.start, limit=10)[0] == b"a" * 10


# ------------------------------------------------------------------------- threads, limits


def test_threads_over_one_compiler_give_the_masks_of_one_thread() -> None:
    schemas: list[Any] = [
        {"type": "object", "properties": {"ab": {"type": "boolean"}, "abc": {"type": "string"}}},
        {"type": "array", "items": {"type": "string", "maxLength": 5, "minLength": 1}},
        {
            "type": "array",
            "items": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "null"}}]},
        },
        {"type": "string", "pattern": "^(ab|c)*$"},
    ]

    def walk(compiler: Compiler, seed: int) -> list[list[int]]:
        rng = random.Random(seed)
        matcher = compiler.json_schema(schemas[seed % len(schemas)]).matcher()
        bits = np.zeros((2, WORDS), np.int32)
        seen = []
        for _ in range(40):
            fill_bitmasks([matcher, matcher], bits)
            assert (bits[0] == bits[1]).all()
            allowed = matcher.allowed_tokens().tolist()
            seen.append(allowed)
            if not allowed or not matcher.accept(rng.choice(allowed)):
                break
        return seen

    alone = [walk(Compiler(VOCABULARY), seed) for seed in range(24)]
    shared = Compiler(VOCABULARY)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: walk(shared, seed), range(24)))
    assert together == alone


def test_threads_that_share_one_fsm_give_the_masks_of_one_thread() -> None:
    pattern = "(a|ab|abc)*[xy]{2,9}"

    def walk(compiled: Any, seed: int) -> list[list[int]]:
        rng = random.Random(seed)
        matcher = compiled.matcher()
        seen = []
        for _ in range(30):
            allowed = filled(matcher)
            seen.append(allowed)
            if not allowed or not matcher.accept(rng.choice(allowed)):
                break
        return seen

    alone = [walk(Compiler(VOCABULARY).regex(pattern), seed) for seed in range(16)]
    shared = Compiler(VOCABULARY).regex(pattern)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda seed: walk(shared, seed), range(16))) == alone


def run_to_limit(limits: Limits, grammar: ir.Grammar, text: bytes) -> LimitError:
    """Follow a text until a limit is exceeded."""
    compiler = Compiler(VOCABULARY, limits=limits)

    def follow() -> None:
        matcher = compiler.grammar(grammar).matcher()
        for token in ids(text):
            filled(matcher)
            assert matcher.accept(token)

    with pytest.raises(LimitError) as caught:
        follow()
    return caught.value


NESTED = StaticGrammar(
    {"list": ir.Sequence((ir.Literal(b"["), ir.Repeat(ir.Ref("list"), 0, None), ir.Literal(b"]")))},
    "list",
)


def test_deep_nesting_is_a_limit_error_and_the_fsm_stays_usable() -> None:
    compiler = Compiler(VOCABULARY, limits=Limits(stack_depth=20))
    fsm = compiler.grammar(NESTED)
    matcher = fsm.matcher()
    with pytest.raises(LimitError) as caught:
        matcher.accept_all(ids(b"[" * 50))
    assert caught.value.limit == "stack_depth"
    assert caught.value.allowed == 20
    assert 5 <= len(matcher.tokens) < 50
    matcher.reset()
    assert matcher.accept_all([*ids(b"[[]]"), END]) == 5


def test_too_many_configurations_are_a_limit_error() -> None:
    error = run_to_limit(Limits(configurations=100), NESTED, b"[" * 2_000)
    assert error.limit == "configurations"


def test_too_many_threads_are_a_limit_error() -> None:
    options = tuple(ir.Literal(b"a" * (i + 1) + b"b") for i in range(500))
    grammar = StaticGrammar({"s": ir.Choice(options)}, "s")
    error = run_to_limit(Limits(threads=100), grammar, b"aaa")
    assert error.limit == "threads"


def test_growth_far_beyond_the_first_tables_changes_no_mask() -> None:
    # Thousands of configurations, continuations and threads; then the same path once more.
    depth = 1_500
    matcher = Compiler(VOCABULARY).grammar(NESTED).matcher()
    text = b"[" * depth + b"]" * depth
    masks = []
    for token in ids(text):
        masks.append(filled(matcher))
        assert matcher.accept(token)
    assert filled(matcher) == [END, OTHER_END]
    matcher.reset()
    for token, mask in zip(ids(text), masks, strict=True):
        assert filled(matcher) == mask
        assert matcher.accept(token)
    double = TOKENS.index(b"]]")
    assert double in masks[depth]
    assert double not in masks[-1]


def test_an_unsatisfiable_pattern_or_list_is_an_error() -> None:
    compiler = Compiler(VOCABULARY)
    with pytest.raises(UnsatisfiableError):
        compiler.regex("a(?!a)a")
    with pytest.raises(UnsatisfiableError):
        compiler.choices([])


@pytest.mark.jit_off
def test_choices_are_exactly_the_texts_given() -> None:
    compiler = Compiler(VOCABULARY)
    fsm = compiler.choices(["yes", "no", "yes sir", ""])
    for text, expected in (
        ("yes", True),
        ("no", True),
        ("", True),
        ("ye", False),
        ("yes sir", True),
    ):
        matcher = fsm.matcher()
        assert matcher.accept_all(ids(text.encode())) == len(text)
        assert matcher.is_accepting() == expected
    assert set(filled(fsm.matcher())) == {*ids(b"yn"), END, OTHER_END}


# ------------------------------------------------------------------------ real tokenizer


@pytest.fixture(scope="module")
def llama(data_dir: Path) -> Compiler:
    tokenizers = pytest.importorskip("tokenizers")
    path = data_dir / "tokenizers" / "llama3_1" / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"no tokenizer at {path}")
    return Compiler(Vocabulary.from_tokenizer(tokenizers.Tokenizer.from_file(str(path))))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            {
                "type": "object",
                "properties": {
                    "first_name": {"type": "string"},
                    "is_active": {"type": "boolean"},
                    "coordinates": {
                        "type": "object",
                        "properties": {"latitude": {"type": "number"}, "kind": {"const": "point"}},
                        "required": ["latitude", "kind"],
                        "additionalProperties": False,
                    },
                },
                "required": ["first_name", "is_active", "coordinates"],
                "additionalProperties": False,
            },
            {
                "first_name": "Zo\u00eb \U0001f600",
                "is_active": True,
                "coordinates": {"latitude": -1.5, "kind": "point"},
            },
        ),
        ({"enum": ["internationalization", "international", "inter"]}, "international"),
        (
            {"const": {"\u00e9t\u00e9": ["\u65e5\u672c\u8a9e", 12345678, None]}},
            {"\u00e9t\u00e9": ["\u65e5\u672c\u8a9e", 12345678, None]},
        ),
    ],
)
@pytest.mark.parametrize("whitespace", ["default", "compact"])
def test_forced_tokens_are_those_of_the_tokenizer(
    llama: Compiler, schema: Any, value: Any, whitespace: Any
) -> None:
    separators = (",", ":") if whitespace == "compact" else None
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    vocabulary = llama.vocabulary
    assert vocabulary.encode is not None
    canonical = vocabulary.encode(text)
    matcher = llama.json_schema(schema, options=JsonOptions(whitespace=whitespace)).matcher()
    forced_somewhere = 0
    while len(matcher.tokens) < len(canonical):
        done = len(matcher.tokens)
        forced = matcher.forced_tokens()
        forced_somewhere += len(forced)
        assert forced == canonical[done : done + len(forced)], vocabulary.join(forced)
        assert matcher.accept_all(forced) == len(forced)
        if not forced:
            assert matcher.accept(canonical[done])
    assert matcher.is_accepting()
    assert forced_somewhere > 0 or whitespace == "default"


@pytest.mark.parametrize("closer", [b'x"', rb'\u0061"', rb'\u00e9"', rb'b\u0061":1'])
def test_tokens_that_close_an_undeclared_key(closer: bytes) -> None:
    """Keys spell printable ASCII plainly, and never spell a declared name."""
    rest = [b'a"', b'a":', b'b"', b'ba"', b'ba":1', b'"', b'":', b'""', b"ab", b'ab":1,"', b'bab"']
    tokens = [bytes((byte,)) for byte in range(256)] + [closer, *rest, b""]
    compiler = Compiler(Vocabulary.from_tokens(tokens, eos_ids=[len(tokens) - 1]))
    declared = {"a": True, "ab": True, "b": True}
    schema = {"properties": declared, "additionalProperties": {"const": 1}}
    fsm = compiler.json_schema(schema)
    for text in (b'{"', b'{"a', b'{"ab', b'{"b', b'{"x', b'{"a":1,"', b'{"b":1,"a'):
        node = fsm.start
        for byte in text:
            node = fsm.step(node, byte)
        mask = np.unpackbits(fsm.mask(node).view(np.uint8), bitorder="little")[: len(tokens) - 1]
        stepped = [fsm.advance(node, token) != DEAD for token in range(len(tokens) - 1)]
        assert mask.tolist() == stepped, text
