"""The fewest bytes to the end of a text, against a search over nodes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.fsm.compiler import Compiler
from maskwright.fsm.token_fsm import DEAD, TokenFSM
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.ir import (
    NOTHING,
    Chain,
    ChainItem,
    Choice,
    CountedString,
    Expr,
    Grammar,
    Key,
    Literal,
    Ref,
    Repeat,
    Sequence,
    StringLexeme,
    TextLexeme,
    UndeclaredKey,
)
from maskwright.grammar.static import StaticGrammar

VOCABULARY = Vocabulary.from_tokens([bytes((byte,)) for byte in range(256)] + [None], eos_ids=[256])
COMPILER = Compiler(VOCABULARY)
# One byte of each kind that the lexemes below tell apart.
ALPHABET = b'ab,"\\un0e9\xc3\xa9'


def searched(fsm: TokenFSM, node: int, alphabet: bytes = ALPHABET) -> int:
    """Breadth-first over nodes, a byte at a time."""
    seen = {node}
    level, distance = [node], 0
    while True:
        following = []
        for here in level:
            if fsm.is_accepting(here):
                return distance
            for byte in alphabet:
                after = fsm.step(here, byte)
                if after != DEAD and after not in seen:
                    seen.add(after)
                    following.append(after)
        assert following
        level, distance = following, distance + 1


def nodes(fsm: TokenFSM, length: int, alphabet: bytes = ALPHABET) -> list[int]:
    """Nodes that are at most so many bytes from the start."""
    found = {fsm.start: None}
    level = [fsm.start]
    for _ in range(length):
        steps = {fsm.step(node, byte): None for node in level for byte in alphabet}
        level = [node for node in steps if node != DEAD and node not in found]
        found.update(dict.fromkeys(level))
    return list(found)


def check(rules: Mapping[Key, Expr], length: int = 5) -> None:
    fsm = COMPILER.grammar(StaticGrammar(rules, "A"))
    for node in nodes(fsm, length):
        assert fsm.shortest_completion(node) == searched(fsm, node)


def lit(text: str) -> Literal:
    return Literal(text.encode())


A, B = Ref("A"), Ref("B")
WORDS = CharDFA.from_strings(["a", "aab", "é"])
LEXEMES: list[Expr] = [
    lit(""),
    lit("a"),
    lit("ab"),
    TextLexeme(WORDS),
    StringLexeme(WORDS),
    TextLexeme(CharDFA.from_strings(["", "bb"])),
    StringLexeme(CharDFA.from_strings(["\n"])),
    CountedString(),
    CountedString(2, 3),
    CountedString(3, None),
    CountedString(0, 0),
    UndeclaredKey(frozenset()),
    UndeclaredKey(frozenset(["", "a"])),
    UndeclaredKey(frozenset(["b"])),
]


@pytest.mark.parametrize("lexeme", LEXEMES, ids=repr)
def test_every_state_of_a_lexeme(lexeme: Expr) -> None:
    check({"A": Sequence((lexeme, lit(",")))})


RULES: dict[str, dict[Key, Expr]] = {
    "nesting": {"A": Choice((Sequence((lit("a"), A, lit("bb"))), lit("b")))},
    "tail calls": {"A": Choice((Sequence((lit("a"), A)), lit("bbb")))},
    "a repeat": {"A": Repeat(lit("ab"), 2, 4, lit(","))},
    "an open repeat": {"A": Repeat(B, 3, None, lit(",")), "B": Choice((lit("aa"), lit("b")))},
    "a chain": {
        "A": Chain(
            (ChainItem(lit("a"), False), ChainItem(B, True), ChainItem(lit("b"), True)),
            lit(","),
            lit("u"),
        ),
        "B": Choice((lit("bbb"), Sequence((lit("a"), lit("n"))))),
    },
    "an optional chain": {"A": Chain((ChainItem(lit("ab"), False),), lit(","), lit("nn"))},
    "the cheap way is the deep one": {
        "A": Sequence((lit("a"), B)), "B": Choice((lit("bbbbbb"), Ref("C"))), "C": Ref("D"),
        "D": Choice((Sequence((lit("n"), B)), lit("uu"))),
    },
    "mutual recursion": {
        "A": Choice((Sequence((lit("a"), B, B)), lit("bbbbbbb"))),
        "B": Choice((Sequence((lit("b"), A)), lit("a"))),
    },
}  # fmt: skip


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_every_node_of_a_grammar(rules: dict[Key, Expr]) -> None:
    check(rules)


def expressions(keys: str) -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([*LEXEMES[:8], NOTHING])

    def inner(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        # A call comes after a byte, so that nothing is left-recursive, and has a way out.
        calls = st.sampled_from(keys).map(
            lambda key: Choice((lit("bbb"), Sequence((lit("a"), Ref(key)))))
        )
        parts = children | calls
        members = st.lists(st.builds(ChainItem, parts, st.booleans()), max_size=2).map(tuple)
        return st.one_of(
            st.builds(Sequence, st.lists(parts, max_size=3).map(tuple)),
            st.builds(Choice, st.lists(parts, min_size=1, max_size=3).map(tuple)),
            st.builds(
                lambda item, low, more: Repeat(item, low, low + more, lit(",")),
                parts, st.integers(0, 2), st.integers(0, 1),
            ),
            st.builds(Chain, members, parts, st.none() | parts),
        )  # fmt: skip

    return st.recursive(leaves, inner, max_leaves=4)


@given(st.fixed_dictionaries({key: expressions("AB") for key in "AB"}))
def test_random_grammars(rules: dict[Key, Expr]) -> None:
    check(rules, length=3)


class Endless(Grammar):
    """Rule ``n`` calls rule ``n + 1``, or ends."""

    start = 0

    def __init__(self) -> None:
        self.fetched: set[Key] = set()

    def rule(self, key: Key) -> Expr:
        assert isinstance(key, int)
        self.fetched.add(key)
        end = lit("a" * max(20 - 4 * key, 3))
        return Choice((end, Sequence((lit("b"), Ref(key + 1)))))


def test_an_infinite_grammar_is_fetched_only_as_far_as_it_can_be_cheaper() -> None:
    grammar = Endless()
    fsm = COMPILER.grammar(grammar)
    # What the compiler expands ahead is not what is asked here.
    grammar.fetched.clear()
    # "bbbb" and rule 4's "aaaa", or "bbbbb" and rule 5's "aaa".
    assert fsm.shortest_completion(fsm.start) == 8
    assert max(key for key in grammar.fetched if isinstance(key, int)) < 12


def test_a_million_items_are_counted_not_expanded() -> None:
    fsm = COMPILER.grammar(
        StaticGrammar({"A": Repeat(lit("ab"), 1_000_000, 2_000_000, lit(","))}, "A")
    )
    assert fsm.shortest_completion(fsm.start) == 2_999_999
    assert fsm.shortest_completion(fsm.step(fsm.start, ord("a"))) == 2_999_998


def test_a_deep_text_is_closed_level_by_level() -> None:
    fsm = COMPILER.grammar(
        StaticGrammar({"A": Choice((Sequence((lit("["), A, lit("]"))), lit("ab")))}, "A")
    )
    node = fsm.start
    for depth in range(1, 20_001):
        node = fsm.step(node, ord("["))
        if depth % 4_000 == 0:
            assert fsm.shortest_completion(node) == depth + 2


def test_a_schema_needs_its_required_members_only() -> None:
    fsm = COMPILER.json_schema(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 3},
                "tags": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
                "more": {"$ref": "#"},
            },
            "required": ["name", "tags"],
        }
    )
    shortest = b'{"name":"aaa","tags":[1,1]}'
    node = fsm.start
    left = fsm.shortest_completion(node)
    for done, byte in enumerate(shortest):
        assert left == len(shortest) - done or done
        node = fsm.step(node, byte)
        left = fsm.shortest_completion(node)
    assert left == 0


def test_a_dead_node_has_no_completion() -> None:
    fsm = COMPILER.grammar(StaticGrammar({"A": lit("a")}, "A"))
    with pytest.raises(ValueError, match="dead"):
        fsm.shortest_completion(DEAD)
