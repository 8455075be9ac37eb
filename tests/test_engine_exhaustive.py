"""Every short text of many small grammars, in every tokenization, against the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from ir_reference import matches
from reference_matcher import Prefixes

from maskwright.errors import VocabularyError
from maskwright.fsm.compiler import Compiler
from maskwright.fsm.token_fsm import DEAD
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar import ir
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.json_schema import JsonOptions, JsonSchemaGrammar
from maskwright.grammar.regex import fullmatch_language
from maskwright.grammar.static import StaticGrammar


def lit(data: str) -> ir.Literal:
    return ir.Literal(data.encode())


def pattern(source: str) -> CharDFA:
    return CharDFA.from_regular(fullmatch_language(source, dialect="python"))


def text(source: str) -> ir.TextLexeme:
    return ir.TextLexeme(pattern(source))


def string(source: str) -> ir.StringLexeme:
    return ir.StringLexeme(pattern(source))


def seq(*items: ir.Expr) -> ir.Sequence:
    return ir.Sequence(items)


def either(*options: ir.Expr) -> ir.Choice:
    return ir.Choice(options)


def chain(*items: str, separator: ir.Expr, rest: ir.Expr | None = None) -> ir.Chain:
    """Items as letters; a question mark after one makes it optional."""
    members = tuple(ir.ChainItem(lit(item[0]), not item.endswith("?")) for item in items)
    return ir.Chain(members, separator, rest)


@dataclass(frozen=True)
class Small:
    """A grammar, the letters its texts are tried with, and how long they may be."""

    start: ir.Expr
    alphabet: bytes
    length: int
    rules: tuple[tuple[str, ir.Expr], ...] = ()
    is_text: bool = True

    @property
    def grammar(self) -> StaticGrammar:
        return StaticGrammar({"start": self.start, **dict(self.rules)}, "start")


BYTES = [bytes((byte,)) for byte in range(256)]
COMMA = lit(",")
NESTED = (
    ("list", seq(lit("["), ir.Repeat(ir.Ref("value"), 0, None, COMMA), lit("]"))),
    ("value", either(lit("a"), ir.Ref("list"))),
)
PALINDROME = (
    (
        "word",
        either(
            seq(lit("a"), ir.Ref("word"), lit("a")),
            seq(lit("b"), ir.Ref("word"), lit("b")),
            text("[ab]?"),
        ),
    ),
)
RIGHT = (("tail", either(seq(lit("a"), ir.Ref("tail")), seq(lit("b"), ir.Ref("tail")), lit("c"))),)
MUTUAL = (
    ("even", either(ir.NOTHING, seq(lit("a"), ir.Ref("odd")))),
    ("odd", seq(text("b?"), lit("a"), ir.Ref("even"))),
)

SMALL: Mapping[str, Small] = {
    "literal": Small(lit("abab"), b"ab", 5),
    "empty literal": Small(seq(lit(""), lit("a"), lit("")), b"ab", 3),
    "nothing": Small(ir.NOTHING, b"ab", 2),
    "text that may go on": Small(text("a(ba)*"), b"ab", 6),
    "nullable text": Small(text("(ab)*"), b"ab", 6),
    "only the empty text": Small(seq(text("()"), lit("a")), b"ab", 3),
    "nullable texts in a row": Small(seq(text("a*"), text("b*"), text("a?")), b"ab", 6),
    "texts that overlap": Small(seq(text("a+"), text("[ab]*"), lit("b")), b"ab", 6),
    "options with a common prefix": Small(either(lit("aab"), lit("aaa"), text("a+")), b"ab", 6),
    "ambiguous": Small(either(text("[ab]{2,4}"), seq(text("a*"), text("b*"))), b"ab", 6),
    "same option twice": Small(
        either(seq(lit("a"), text("b*")), seq(text("a"), text("b*"))), b"ab", 5
    ),
    "nested sequences": Small(seq(seq(), seq(lit("a"), seq(lit("b"))), ir.NOTHING), b"ab", 4),
    "optional": Small(seq(ir.Repeat(lit("a"), 0, 1), lit("b")), b"ab", 4),
    "exactly": Small(ir.Repeat(text("ab?"), 3, 3), b"ab", 7),
    "exactly none": Small(seq(ir.Repeat(lit("a"), 0, 0, COMMA), lit("b")), b"ab,", 3),
    "one or more": Small(ir.Repeat(text("a|bb"), 1, None, COMMA), b"ab,", 5),
    "any number": Small(ir.Repeat(text("a|bb"), 0, None, COMMA), b"ab,", 5),
    "two to four": Small(ir.Repeat(lit("a"), 2, 4, COMMA), b"a,", 9),
    "at least three": Small(ir.Repeat(text("[ab]"), 3, None), b"ab", 6),
    "at least three nullable": Small(
        seq(ir.Repeat(text("a?"), 3, None, text("b?")), COMMA), b"ab,", 5
    ),
    "nullable items": Small(ir.Repeat(text("a*"), 0, None, text("b?")), b"ab", 5),
    "bounded nullable items": Small(seq(ir.Repeat(text("a?"), 2, 3, COMMA), lit("b")), b"ab,", 6),
    "repeat in repeat": Small(ir.Repeat(ir.Repeat(lit("a"), 1, 2), 1, 2, text(",?")), b"a,", 7),
    "chain": Small(chain("a?", "b", "c?", separator=COMMA), b"abc,", 6),
    "optional chain": Small(
        seq(lit("{"), chain("a?", "b?", separator=COMMA), lit("}")), b"{}ab,", 6
    ),
    "chain with rest": Small(chain("a", "b?", separator=COMMA, rest=text("[bc]")), b"abc,", 6),
    "optional chain with rest": Small(
        seq(chain("a?", "b?", separator=COMMA, rest=lit("c")), lit(";")), b"abc,;", 5
    ),
    "only rest": Small(chain(separator=COMMA, rest=text("a+")), b"a,", 6),
    "empty chain": Small(seq(chain(separator=COMMA), lit("a")), b"a,", 3),
    "required after optional": Small(
        chain("a?", "b?", "c", "a", "b?", separator=text(",?")), b"abc,", 5
    ),
    "recursion": Small(ir.Ref("list"), b"[]a,", 6, NESTED),
    "recursion both ways": Small(ir.Ref("word"), b"ab", 6, PALINDROME),
    "right recursion": Small(seq(ir.Ref("tail"), lit("a")), b"abc", 5, RIGHT),
    "mutual recursion": Small(seq(ir.Ref("even"), text("a?")), b"ab", 6, MUTUAL),
    "call in the middle": Small(seq(ir.Ref("list"), ir.Ref("list")), b"[]a,", 6, NESTED),
    "bytes that are no text": Small(
        seq(ir.Literal(b"\xff\x80"), text("a*")), b"\xff\x80a", 4, is_text=False
    ),
    "characters of several bytes": Small(
        text("[\u00e9\u20ac\U0001f600]+"), "a\u00e9\u20ac\U0001f600".encode(), 7
    ),
    "any character": Small(text("."), b"a\xc3\xa9\xed\xa0\xe0\xf4\x90\x80", 4),
    "counted string": Small(ir.CountedString(1, 2), b'"a\\n', 6),
    "empty string only": Small(ir.CountedString(0, 0), b'"a\\n', 3),
    "free string": Small(seq(ir.CountedString(), text("a*")), b'"a\\u0', 4),
    "string of at least two": Small(ir.CountedString(2, None), b'"a\xc3\xa9', 6),
    "counted characters of several bytes": Small(
        ir.CountedString(1, 1), '"a\u00e9\U0001f600'.encode(), 6
    ),
    "two counted strings": Small(
        either(seq(ir.CountedString(0, 1), lit("a")), seq(ir.CountedString(1, 2), lit("b"))),
        b'"ab',
        6,
    ),
    "string of a language": Small(string("a*b?"), b'"ab\\', 6),
    "string with escapes": Small(string('["\\\\/\n]{1,2}'), b'"\\/n', 6),
    "counted or of a language": Small(either(ir.CountedString(0, 2), string("[ab]*")), b'"ab', 6),
    "strings side by side": Small(seq(string("[ab]*"), ir.CountedString(0, 1)), b'"ab', 6),
    "undeclared key": Small(ir.UndeclaredKey(frozenset({"a", "ab", "abb"})), b'"ab', 7),
    "undeclared, nothing declared": Small(ir.UndeclaredKey(frozenset()), b'"a\\', 5),
    "undeclared, empty declared": Small(ir.UndeclaredKey(frozenset({""})), b'"a\\', 5),
    "undeclared with escapes": Small(ir.UndeclaredKey(frozenset({'a"', "\\", "b/"})), b'"ab\\/', 6),
    "undeclared beside declared": Small(
        either(seq(ir.UndeclaredKey(frozenset({"a", "ba"})), lit(":")), lit('"a";'), lit('"b";')),
        b'"ab:;',
        6,
    ),
    "undeclared not in ASCII": Small(
        ir.UndeclaredKey(frozenset({"\u00e9", "a\u00e9"})), b'"a\xc3\xa9', 6
    ),
}


def vocabulary_of(alphabet: bytes, *, size: int | None = None) -> Vocabulary:
    """All bytes of the alphabet, longer tokens, equal tokens, specials, holes and two ends."""
    letters = [bytes((byte,)) for byte in dict.fromkeys(alphabet)]
    pairs = [a + b for a, b in itertools.product(letters, repeat=2)]
    longer = [a + b for a, b in itertools.product(pairs, letters)][::5]
    longer += [a + b for a, b in itertools.product(pairs, pairs)][::17]
    longer += [a + b + a for a, b in itertools.product(pairs, pairs)][::71]
    text_tokens: list[bytes | None] = [
        *letters,
        *pairs[:25],
        *longer[:50],
        b"zz",
        b"\xf0\x9f",
        b"\x00",
    ]
    tokens = [b"<s>", *text_tokens, None, b"<e>", letters[0], pairs[0], pairs[0], b"", b"</s>"]
    end = len(text_tokens) + 2
    return Vocabulary.from_tokens(
        tokens, eos_ids=[end, len(tokens) - 1], special_ids=[0], size=size
    )


def bits_of(mask: np.ndarray, size: int) -> frozenset[int]:
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    assert not bits[size:].any()
    return frozenset(np.flatnonzero(bits).tolist())


def check(
    grammar: ir.Grammar,
    vocabulary: Vocabulary,
    length: int,
    compiler: Compiler,
    is_text: bool = True,
) -> int:
    """Compare on all live texts up to a length that tokens can reach -> how many there were.

    Args:
        is_text: all literals are UTF-8, so that the other oracle can read the grammar as well.
    """
    oracle = Prefixes(grammar)
    fsm = compiler.grammar(grammar)
    tokens = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    eos = frozenset(vocabulary.eos_ids)
    # All nodes that some tokenization of a text leads to.
    reached: dict[bytes, set[int]] = {b"": {fsm.start}}
    texts = 0
    for size in range(length + 1):
        for data in [data for data in reached if len(data) == size]:
            texts += 1
            states = oracle.after(oracle.start, data)
            following = {t: oracle.after(states, piece) for t, piece in enumerate(tokens) if piece}
            allowed = frozenset(t for t, after in following.items() if after)
            ends = oracle.accepts(states)
            if is_text and _is_text(data):
                assert ends == matches(grammar, data), data
            expected = allowed | eos if ends else allowed
            assert ends or any(oracle.after(states, byte) for byte in BYTES), f"dead end: {data!r}"
            for node in reached[data]:
                assert fsm.is_accepting(node) == ends, data
                if not expected:  # the grammar goes on, but with bytes that are in no token
                    with pytest.raises(VocabularyError):
                        fsm.mask(node)
                    continue
                mask = bits_of(fsm.mask(node), vocabulary.size)
                assert mask == expected, (data, _tokens(tokens, mask ^ expected), mask - expected)
                for token in range(vocabulary.size):
                    target = fsm.advance(node, token)
                    assert (target != DEAD) == (token in allowed), (data, tokens[token])
                    if target != DEAD and size + len(tokens[token]) <= length:
                        reached.setdefault(data + tokens[token], set()).add(target)
    return texts


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _tokens(tokens: list[bytes], ids: Iterable[int]) -> list[bytes]:
    return [tokens[token] for token in sorted(ids)]


@pytest.mark.jit_off
@pytest.mark.parametrize("name", SMALL)
def test_masks_and_moves_are_those_of_the_oracle(name: str) -> None:
    small = SMALL[name]
    vocabulary = vocabulary_of(small.alphabet)
    compiler = Compiler(vocabulary)
    texts = check(small.grammar, vocabulary, small.length, compiler, small.is_text)
    assert texts > 1 or name == "nothing"


def test_grammars_that_share_a_compiler_do_not_disturb_each_other() -> None:
    # One vocabulary and one set of lexemes, rows and buffers for all; FSMs come and go.
    vocabulary = vocabulary_of(b'"ab\\,[]')
    compiler = Compiler(vocabulary)
    for _ in range(2):
        for small in SMALL.values():
            check(small.grammar, vocabulary, min(small.length, 3), compiler, small.is_text)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", [name for name in SMALL if "string" in name or "undecl" in name])
def test_padding_wider_than_the_tokens_changes_nothing(name: str) -> None:
    # So few of the ids stay inside a string that its states are walked like any others.
    small = SMALL[name]
    vocabulary = vocabulary_of(small.alphabet, size=2_000)
    check(small.grammar, vocabulary, min(small.length, 3), Compiler(vocabulary))


SCHEMAS: Mapping[str, tuple[object, bytes]] = {
    "integer": ({"type": "integer", "minimum": -10, "maximum": 25}, b"-0123"),
    "number": ({"type": "number"}, b"-01.e+"),
    "enum": ({"enum": ["a", "ab", 1, None, [1]]}, b'"ab1nul[]'),
    "array": (
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
        b"[]tru, ",
    ),
    "unique keys": (
        {"properties": {"a": {"const": 1}, "ab": {"const": 2}}, "type": "object"},
        b'{}"ab:1',
    ),
    "required": (
        {
            "type": "object",
            "properties": {"a": {"const": 1}, "b": {"const": 1}},
            "required": ["b"],
            "additionalProperties": False,
        },
        b'{}"ab:1,',
    ),
    "recursive": (
        {"$ref": "#/$defs/x", "$defs": {"x": {"type": "array", "items": {"$ref": "#/$defs/x"}}}},
        b"[], ",
    ),
    "bounded string": ({"type": "string", "minLength": 1, "maxLength": 3}, b'"a\\u0d8'),
    "pattern": ({"type": "string", "pattern": "^a+b?$"}, b'"ab\\'),
}


@pytest.mark.parametrize("whitespace", ["default", "compact", "indented", "flexible"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_matched_as_their_grammar_says(name: str, whitespace: str) -> None:
    schema, alphabet = SCHEMAS[name]
    grammar = JsonSchemaGrammar(schema, options=JsonOptions(whitespace=whitespace))
    vocabulary = vocabulary_of(alphabet + b" \n")
    check(grammar, vocabulary, 5 if len(alphabet) < 7 else 4, Compiler(vocabulary))
