"""Normalized grammars: the same language, without left recursion and dead ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.errors import GrammarError, LimitError, UnsatisfiableError
from maskwright.fsm.compiler import Compiler
from maskwright.fsm.layout import C_CONFIG_SIZE
from maskwright.fsm.token_fsm import DEAD, TokenFSM
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.ir import (
    NOTHING,
    Chain,
    ChainItem,
    Choice,
    Expr,
    Key,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextLexeme,
)
from maskwright.grammar.recursion import normalized
from maskwright.grammar.regular import CharSet
from maskwright.limits import Limits

VOCABULARY = Vocabulary.from_tokens([b"a", b"b", b"ab", b"+", b"(", b")", b"*", b""], eos_ids=[7])
COMPILER = Compiler(VOCABULARY)
LENGTH = 4
A_STAR = TextLexeme(CharDFA.from_charset_repeat(CharSet.single(ord("a")), 0, None))

Language = frozenset[bytes]


def lit(text: str) -> Literal:
    return Literal(text.encode())


def seq(*items: Expr | str) -> Sequence:
    return Sequence(tuple(lit(i) if isinstance(i, str) else i for i in items))


def alt(*options: Expr | str) -> Choice:
    return Choice(tuple(lit(o) if isinstance(o, str) else o for o in options))


A, B, C, D, E = (Ref(name) for name in "ABCDE")
RULES = ("A", "B", "C", "D")

# ---------------------------------------------------------------------- the reference


def joined(first: Language, second: Language, length: int) -> Language:
    return frozenset(a + b for a in first for b in second if len(a) + len(b) <= length)


def texts(expr: Expr, known: Mapping[Key, Language], length: int) -> Language:
    """Texts of an expression up to a length, given those of the rules."""
    if isinstance(expr, Ref):
        return known[expr.key]
    if isinstance(expr, Literal):
        return frozenset([expr.data] if len(expr.data) <= length else [])
    if isinstance(expr, TextLexeme):
        words = (bytes(word) for n in range(length + 1) for word in product(b"ab", repeat=n))
        return frozenset(word for word in words if expr.language.accepts(word.decode()))
    if isinstance(expr, Sequence):
        parts = (texts(item, known, length) for item in expr.items)
        return reduce(lambda a, b: joined(a, b, length), parts, frozenset([b""]))
    if isinstance(expr, Choice):
        return frozenset().union(*(texts(option, known, length) for option in expr.options))
    if isinstance(expr, Repeat):
        item, between = texts(expr.item, known, length), texts(expr.separator, known, length)
        found: set[bytes] = set()
        now: Language = frozenset([b""])
        # After length + min + 1 items nothing new can come.
        last = length + expr.min + 1 if expr.max is None else expr.max
        for count in range(last + 1):
            if count >= expr.min:
                found |= now
            now = joined(now, item if count == 0 else joined(between, item, length), length)
        return frozenset(found)
    assert isinstance(expr, Chain)
    between = texts(expr.separator, known, length)
    first, some = frozenset([b""]), frozenset[bytes]()
    for member in expr.items:
        item = texts(member.expr, known, length)
        taken = joined(first, item, length) | joined(joined(some, between, length), item, length)
        first, some = (frozenset(), taken) if member.required else (first, some | taken)
    if expr.rest is not None:
        rest = texts(expr.rest, known, length)
        some |= joined(first, rest, length)
        for _ in range(length + 2):
            some |= joined(joined(some, between, length), rest, length)
    return first | some


def language(rules: Mapping[Key, Expr], start: Key, length: int) -> Language:
    """Texts of a rule up to a length: the least fixpoint, whatever the recursion."""
    known: dict[Key, Language] = {key: frozenset() for key in rules}
    while True:
        after = {key: texts(expr, known, length) for key, expr in rules.items()}
        if after == known:
            return known[start]
        known = after


# ---------------------------------------------------------------------- the engine


def accepted(fsm: TokenFSM, alphabet: bytes, length: int) -> Language:
    """All texts up to a length that the FSM accepts, found byte by byte."""
    found: set[bytes] = set()
    pending = [(b"", fsm.start)]
    while pending:
        text, node = pending.pop()
        if fsm.is_accepting(node):
            found.add(text)
        if len(text) < length:
            steps = ((bytes((byte,)), fsm.step(node, byte)) for byte in alphabet)
            pending += [(text + byte, after) for byte, after in steps if after != DEAD]
    return frozenset(found)


def node_after(fsm: TokenFSM, text: bytes) -> int:
    node = fsm.start
    for byte in text:
        node = fsm.step(node, byte)
    return node


def threads(fsm: TokenFSM, node: int) -> int:
    return int(fsm._arena.array(C_CONFIG_SIZE)[node])


def called_keys(expr: Expr) -> Iterable[Key]:
    if isinstance(expr, Ref):
        yield expr.key
    elif isinstance(expr, Sequence):
        for item in expr.items:
            yield from called_keys(item)
    elif isinstance(expr, Choice):
        for option in expr.options:
            yield from called_keys(option)
    elif isinstance(expr, Repeat):
        yield from (*called_keys(expr.item), *called_keys(expr.separator))
    elif isinstance(expr, Chain):
        parts = [item.expr for item in expr.items] + ([] if expr.rest is None else [expr.rest])
        for part in (*parts, expr.separator):
            yield from called_keys(part)


def check(
    rules: Mapping[Key, Expr], start: Key, alphabet: bytes = b"ab", length: int = LENGTH
) -> None:
    """The engine accepts the reference's language, and every rule matches something."""
    grammar = normalized(rules, start)
    assert accepted(COMPILER.grammar(grammar), alphabet, length) == language(rules, start, length)
    reachable: dict[Key, Expr] = {}
    pending: list[Key] = [start]
    while pending:
        key = pending.pop()
        if key not in reachable:
            reachable[key] = grammar.rule(key)
            pending.extend(called_keys(reachable[key]))
    matching: set[Key] = set()
    while fresh := {
        key for key, expr in reachable.items() if key not in matching and matches(expr, matching)
    }:
        matching |= fresh
    assert matching == set(reachable)


def matches(expr: Expr, matching: set[Key]) -> bool:
    """Whether an expression matches anything, given the rules that do."""
    if isinstance(expr, Ref):
        return expr.key in matching
    if isinstance(expr, Choice):
        return any(matches(option, matching) for option in expr.options)
    if isinstance(expr, Sequence):
        return all(matches(item, matching) for item in expr.items)
    if isinstance(expr, Repeat):
        parts = (expr.item, expr.separator)[: min(expr.min, 2)]
        return all(matches(part, matching) for part in parts)
    if isinstance(expr, Chain):
        needed = [item.expr for item in expr.items if item.required]
        needed += [expr.separator] if len(needed) > 1 else []
        return all(matches(part, matching) for part in needed)
    return True


HAND_WRITTEN: dict[str, dict[Key, Expr]] = {
    "direct": {"A": alt(seq(A, "b"), "a")},
    "two tails and two bases": {"A": alt(seq(A, "b"), seq(A, "ab"), "a", "ba")},
    "indirect": {"A": alt(seq(B, "a"), "b"), "B": alt(seq(A, "b"), "a")},
    "three rules in a ring": {
        "A": alt(seq(B, "a"), "b"),
        "B": alt(seq(C, "b"), "a"),
        "C": alt(seq(A, "ab"), B, "b"),
    },
    "all with all": {
        "A": alt(seq(A, "a"), seq(B, "b"), "a"),
        "B": alt(seq(A, "ab"), seq(B, "a", A), "b"),
    },
    "hidden behind a nullable rule": {"A": alt(seq(B, A, "b"), "a"), "B": alt("a", NOTHING)},
    "hidden behind a nullable lexeme": {"A": alt(seq(A_STAR, A, "b"), "b")},
    "hidden behind itself": {"A": alt(seq(A, A), "a", NOTHING)},
    "hidden in a repeat": {"A": alt(seq(Repeat(B, 0, 2, lit("b")), A, "b"), "a"), "B": alt("a")},
    "inside a repeat": {"A": alt(seq(Repeat(A, 2, 3, lit("b")), "a"), "a")},
    "inside a separator": {"A": alt(seq(Repeat(NOTHING, 2, 3, A), "b"), "a")},
    "inside a chain": {
        "A": alt(Chain((ChainItem(A, False), ChainItem(lit("a"), True)), lit("b"), A), "b")
    },
    "a chain of nullable items": {
        "A": alt(Chain((ChainItem(A, False), ChainItem(B, True)), B), "b"),
        "B": alt(NOTHING, "a"),
    },
    "a rule that is itself": {"A": alt(A, "a")},
    "two rules that are each other": {"A": alt(B, "a"), "B": alt(A, "b")},
    "unit ring with tails": {
        "A": alt(B, seq(C, "a")),
        "B": alt(A, C, seq(A, "b")),
        "C": alt(B, "a", seq(A, B)),
    },
    "ambiguous sum": {"A": alt(seq(A, "b", A), "a")},
    "concatenation": {"A": alt(seq(A, A), "a", "b")},
    "sum of nullable terms": {"A": alt(seq(A, "b", A), "a", NOTHING)},
    "prefix and postfix operators": {"A": alt(seq("b", A), seq(A, "b"), seq(A, "ab", A), "a")},
    "operators as rules": {
        "A": alt(B, C, "a"),
        "B": seq(A, "b", A),
        "C": alt(seq(A, "ab", A), seq(A, "b")),
    },
    "only the empty text": {"A": alt(seq(A, A), NOTHING)},
    "a tail of empty texts": {"A": alt(seq(A, B), "a"), "B": alt(seq(B, B), NOTHING)},
    "an alternative without end": {"A": alt(seq(A, B), "a"), "B": seq("b", B)},
    "empty, or without end": {
        "A": alt(seq(B, "a"), "b"),
        "B": alt(NOTHING, seq("a", C)),
        "C": seq(C, "b"),
    },
    "a separator without end": {"A": Repeat(lit("a"), 0, None, B), "B": seq(B, "b")},
    "a chain with a separator without end": {
        "A": Chain((ChainItem(lit("a"), False), ChainItem(lit("b"), False)), B),
        "B": seq("b", B),
    },
    "a repeat of nothing": {"A": seq(Repeat(NOTHING, 0, None), "a")},
    "a counted repeat of the empty text": {"A": seq(Repeat(alt("a", NOTHING), 3, 5), "b")},
    "a counted repeat of empty texts with separators": {
        "A": seq(Repeat(alt("a", NOTHING), 2, 3, alt(NOTHING, "ab")), "b"),
    },
    "left recursion in a counted repeat of nullable items": {
        "A": alt(seq(Repeat(alt(A, NOTHING), 2, 3), "b"), Repeat(B, 2, 2), "a"),
        "B": alt(seq(A, "a"), NOTHING),
    },
    "nullable loops": {"A": Repeat(Repeat(alt(B, NOTHING), 0, None), 1, None), "B": alt(A, "b")},
    "right recursion": {"A": alt(seq("a", A), "b")},
    "middle recursion": {"A": alt(seq("a", A, "b"), NOTHING)},
}


@pytest.mark.parametrize("rules", HAND_WRITTEN.values(), ids=HAND_WRITTEN)
def test_the_language_stays_the_same(rules: dict[Key, Expr]) -> None:
    check(rules, "A", length=5)


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from(
        [lit("a"), lit("b"), lit("ab"), lit(""), NOTHING, A_STAR, *(Ref(key) for key in RULES)]
        + [Ref(key) for key in RULES]
    )

    def inner(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        items = st.lists(children, max_size=3).map(tuple)
        members = st.lists(st.builds(ChainItem, children, st.booleans()), max_size=3).map(tuple)
        return st.one_of(
            st.builds(Sequence, items),
            st.builds(Choice, st.lists(children, min_size=1, max_size=3).map(tuple)),
            st.builds(
                lambda item, low, more, between: Repeat(
                    item, low, None if more is None else low + more, between
                ),
                children, st.integers(0, 2), st.none() | st.integers(0, 2),
                st.just(NOTHING) | children,
            ),
            st.builds(Chain, members, children, st.none() | children),
        )  # fmt: skip

    return st.recursive(leaves, inner, max_leaves=6)


@given(st.fixed_dictionaries({key: expressions() for key in RULES}))
def test_random_rules_keep_their_language(rules: dict[Key, Expr]) -> None:
    if language(rules, "A", LENGTH):
        try:
            check(rules, "A")
        except LimitError as error:
            # Rules that call themselves everywhere have exponentially many parses.
            assert error.limit == "threads"  # noqa: PT017


def test_rules_that_are_fit_stay_the_same_objects() -> None:
    rules: dict[Key, Expr] = {"A": alt(seq("a", A, Repeat(B, 0, None)), "b"), "B": seq("a", A)}
    grammar = normalized(rules, "A")
    assert all(grammar.rule(key) is rules[key] for key in rules)
    assert grammar.cycles == ()


def test_an_ambiguous_operator_becomes_a_right_recursive_rule() -> None:
    grammar = normalized({"E": alt(seq(E, "+", E), "a")}, "E")
    assert grammar.rule("E") == seq("a", Repeat(seq("+", E), 0, 1))


def test_a_left_recursive_list_becomes_a_loop() -> None:
    grammar = normalized({"A": alt(seq(A, "+", B), B), "B": lit("a")}, "A")
    assert grammar.rule("A") == seq(B, Repeat(seq("+", B), 0, None))
    assert grammar.cycles == (("A",),)


# ---------------------------------------------------------------------- errors


def test_an_undefined_rule_is_named_with_its_caller() -> None:
    with pytest.raises(GrammarError, match=r"'A' calls 'E', which is not defined"):
        normalized({"A": seq("a", E)}, "A")
    with pytest.raises(GrammarError, match=r"start rule 'E' is not defined"):
        normalized({"A": seq("a")}, "E")


def test_rules_without_end_are_named() -> None:
    rules: dict[Key, Expr] = {"A": alt(seq("a", B), seq(A, D)), "B": seq(B, "b"), "D": lit("a")}
    with pytest.raises(UnsatisfiableError, match=r"'A' matches no text.*: 'A', 'B';"):
        normalized(rules, "A")


# ---------------------------------------------------------------------- size

SUM: dict[Key, Expr] = {"E": alt(seq(E, "+", E), seq(E, "*", E), seq("(", E, ")"), "a")}
SUM_AS_RULES: dict[Key, Expr] = {
    "E": alt(A, B, C, "a"), "A": seq(E, "+", E), "B": seq(E, "*", E), "C": seq("(", E, ")"),
}  # fmt: skip


@pytest.mark.parametrize("rules", [SUM, SUM_AS_RULES], ids=["one rule", "a rule an operator"])
def test_an_ambiguous_sum_has_one_parse_however_long(rules: dict[Key, Expr]) -> None:
    fsm = COMPILER.grammar(normalized(rules, "E"))
    node = node_after(fsm, b"+".join([b"a", b"(a*a+a)*a"] * 500))
    assert fsm.is_accepting(node)
    assert fsm.node_count < 20
    assert threads(fsm, node) <= 4


def test_right_recursion_needs_no_stack() -> None:
    fsm = COMPILER.grammar(normalized({"A": alt(seq("a", A), "a")}, "A"))
    assert fsm.is_accepting(node_after(fsm, b"a" * 100_000))
    assert fsm.node_count < 5


def test_nesting_stops_at_the_limit() -> None:
    compiler = Compiler(VOCABULARY, limits=Limits(stack_depth=1_000))
    fsm = compiler.grammar(normalized({"A": alt(seq("(", A, ")"), "a")}, "A"))
    assert fsm.is_accepting(node_after(fsm, b"(" * 900 + b"a" + b")" * 900))
    with pytest.raises(LimitError, match="stack_depth"):
        node_after(fsm, b"(" * 1_100)


def test_a_long_counted_repeat_of_nullable_items_is_crossed_at_once() -> None:
    rules: dict[Key, Expr] = {"A": seq(Repeat(alt("a", NOTHING), 50_000, 100_000), "b")}
    fsm = COMPILER.grammar(normalized(rules, "A"))
    assert fsm.is_accepting(node_after(fsm, b"aaab"))


RING = 4_000


@pytest.mark.parametrize(
    "rules",
    [
        {i: alt(seq(Ref((i + 1) % RING), "b"), "a") for i in range(RING)},
        {i: alt(Ref((i + 1) % RING), seq(Ref(i * 7 % RING), "b"), "a") for i in range(RING)},
        {i: seq(Ref(i + 1), "b") for i in range(RING)} | {RING: alt(seq(Ref(RING), "a"), "a")},
        {i: alt(seq(Ref(i + 1), Ref(i + 1)), NOTHING) for i in range(RING)} | {RING: lit("a")},
    ],
    ids=["ring", "ring with chords", "line", "nullable line"],
)
def test_thousands_of_rules_need_no_recursion(rules: dict[Key, Expr]) -> None:
    grammar = normalized(rules, 0)
    assert set(called_keys(grammar.rule(0)))
