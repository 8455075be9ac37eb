"""Character automata against an obvious matcher, python sets and the laws of their algebra."""

from __future__ import annotations

import itertools
import random
import re

import interegular
import numpy as np
import pytest
from effort import effort
from hypothesis import assume, given
from hypothesis import strategies as st

from maskwright.errors import GrammarError, LimitError
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.regex import fullmatch_language, search_language
from maskwright.grammar.regular import (
    ANY_CHAR,
    ANY_TEXT,
    EMPTY,
    NEVER,
    Assert,
    Chars,
    CharSet,
    Complement,
    Concat,
    Intersect,
    Look,
    Regular,
    Repeat,
    Union,
    chars,
    concat,
    repeat,
    text,
)
from maskwright.limits import Limits

pytestmark = pytest.mark.jit_off

ALPHABET = "ab\n"
TEXTS = ["".join(t) for n in range(5) for t in itertools.product(ALPHABET, repeat=n)]
WORD = CharSet.of([(ord("a"), ord("b"))])
NEWLINE = CharSet.single(ord("\n"))
START, END = Assert("start"), Assert("end")


# ---------------------------------------------------------------------- the obvious matcher


def ends(node: Regular, value: str, at: int) -> set[int]:
    """Where matches of ``node`` that begin at ``at`` can end."""

    def has(i: int, members: CharSet) -> bool:
        return 0 <= i < len(value) and ord(value[i]) in members

    match node:
        case Chars(set=members):
            return {at + 1} if has(at, members) else set()
        case Concat(items=items):
            reached = {at}
            for item in items:
                reached = {end for i in reached for end in ends(item, value, i)}
            return reached
        case Union(options=options):
            return {end for option in options for end in ends(option, value, at)}
        case Repeat(item=item, min=low, max=high):
            reached = {at}
            result = {at} if low == 0 else set()
            for count in range(1, low + len(value) + 2 if high is None else high + 1):
                reached = {end for i in reached for end in ends(item, value, i)}
                if count >= low:
                    result |= reached
            return result
        case Assert(kind=kind, set=members):
            before, after = has(at - 1, members), has(at, members)
            holds = {
                "start": at == 0,
                "end": at == len(value),
                "line_start": at == 0 or before,
                "line_end": at == len(value) or after,
                "word_boundary": before != after,
                "not_word_boundary": before == after,
            }[kind]
            return {at} if holds else set()
        case Look(item=item, behind=True, negative=negative):
            found = any(at in ends(item, value, i) for i in range(at + 1))
            return {at} if found != negative else set()
        case Look(item=item, negative=negative):
            return {at} if bool(ends(item, value, at)) != negative else set()
        case Intersect() | Complement():
            return {end for end in range(at, len(value) + 1) if whole(node, value[at:end])}


def whole(node: Regular, value: str) -> bool:
    """Whether all of ``value`` matches."""
    match node:
        case Intersect(parts=parts):
            return all(whole(part, value) for part in parts)
        case Complement(item=item):
            return not whole(item, value)
        case _:
            return len(value) in ends(node, value, 0)


# ---------------------------------------------------------------------- random trees

LEAVES = [
    chars((ord("a"), ord("a"))),
    chars((ord("b"), ord("b"))),
    chars((ord("\n"), ord("\n"))),
    chars((ord("a"), ord("b"))),
    ANY_CHAR,
    Chars(NEWLINE.complement()),
    Chars(CharSet(())),
    EMPTY,
    NEVER,
]
ANCHORS: list[Regular] = [START, END]
BOUNDARIES: list[Regular] = [
    Assert("line_start", NEWLINE),
    Assert("line_end", NEWLINE),
    Assert("word_boundary", WORD),
    Assert("not_word_boundary", WORD),
]
BOUNDS = st.sampled_from([(0, None), (1, None), (2, None), (0, 1), (0, 2), (2, 2), (1, 3), (3, 4)])


def trees(leaves: list[Regular], *, looks: bool, algebra: bool) -> st.SearchStrategy[Regular]:
    def larger(inner: st.SearchStrategy[Regular]) -> st.SearchStrategy[Regular]:
        some = st.lists(inner, min_size=0, max_size=3).map(tuple)
        kinds = [
            st.builds(Concat, st.lists(inner, min_size=2, max_size=4).map(tuple)),
            st.builds(Union, some),
            st.builds(lambda item, bounds: Repeat(item, *bounds), inner, BOUNDS),
        ]
        if looks:
            kinds.append(st.builds(Look, inner, st.booleans(), st.booleans()))
        if algebra:
            kinds += [st.builds(Intersect, some), st.builds(Complement, inner)]
        return st.one_of(kinds)

    return st.recursive(st.sampled_from(leaves), larger, max_leaves=9)


def check(node: Regular) -> None:
    dfa = CharDFA.from_regular(node)
    for value in TEXTS:
        assert dfa.accepts(value) == whole(node, value), value
    check_canonical(dfa)


def check_canonical(dfa: CharDFA) -> None:
    """The invariants that the class promises."""
    n_states, n_classes = dfa.trans.shape
    assert dfa.cuts.dtype == dfa.interval_class.dtype == dfa.trans.dtype == np.int32
    assert dfa.accepting.dtype == np.bool_
    assert dfa.cuts[0] == 0
    assert (np.diff(dfa.cuts) > 0).all()
    assert (np.diff(dfa.interval_class) != 0).all()
    assert list(dict.fromkeys(dfa.interval_class.tolist())) == list(range(n_classes))
    assert not dfa.trans[0].any()
    assert not dfa.accepting[0]
    columns = {tuple(column) for column in dfa.trans.T.tolist()}
    assert len(columns) == n_classes
    surrogates = dfa.interval_class[np.searchsorted(dfa.cuts, [0xD800, 0xDFFF], "right") - 1]
    assert surrogates[0] == surrogates[1]
    assert not dfa.trans[:, surrogates[0]].any()
    if dfa.is_empty:
        assert dfa.trans.tolist() == [[0], [0]]
        return
    order = list(dict.fromkeys([1, *dfa.trans[1:].ravel().tolist()]))
    assert [s for s in order if s] == list(range(1, n_states))


@given(trees(LEAVES, looks=False, algebra=False))
def test_plain_trees_match_what_the_obvious_matcher_matches(node: Regular) -> None:
    check(node)


@given(trees(LEAVES + ANCHORS, looks=False, algebra=False))
def test_anchors_anywhere_match_what_the_obvious_matcher_matches(node: Regular) -> None:
    check(node)


@given(trees(LEAVES, looks=False, algebra=True))
def test_set_operations_inside_trees_match_what_the_obvious_matcher_matches(node: Regular) -> None:
    check(node)


@given(trees(LEAVES + ANCHORS + BOUNDARIES, looks=False, algebra=False))
def test_boundaries_anywhere_match_what_the_obvious_matcher_matches(node: Regular) -> None:
    check(node)


@effort(200)
@given(trees(LEAVES + ANCHORS + BOUNDARIES, looks=True, algebra=False))
def test_nested_looks_match_what_the_obvious_matcher_matches(node: Regular) -> None:
    check(node)


# ---------------------------------------------------------------------- looks by example


def word(value: str) -> Regular:
    return concat(Chars(CharSet.single(ord(c))) for c in value)


def ahead(item: Regular, *, negative: bool = False) -> Look:
    return Look(item, behind=False, negative=negative)


def behind(item: Regular, *, negative: bool = False) -> Look:
    return Look(item, behind=True, negative=negative)


ANY_LINE = Repeat(Chars(NEWLINE.complement()), 0, None)


@pytest.mark.parametrize(
    ("node", "accepted", "rejected"),
    [
        pytest.param(
            concat([START, ahead(concat([ANY_LINE, word("foo"), END]), negative=True), ANY_LINE]),
            ["", "foobar", "fo"],
            ["foo", "barfoo"],
            id="leading lookahead that looks at the end",
        ),
        pytest.param(
            concat([ANY_LINE, word("x"), behind(word("ax"), negative=True), END]),
            ["x", "bx", "axbx"],
            ["ax", "bax", ""],
            id="trailing lookbehind",
        ),
        pytest.param(
            Repeat(concat([ahead(word("-->"), negative=True), ANY_CHAR]), 0, None),
            ["", "--", "->", "a--b>"],
            ["-->", "a-->b"],
            id="tempered dot",
        ),
        pytest.param(
            concat([word("a"), ahead(concat([ANY_TEXT, behind(word("ab"))])), ANY_TEXT]),
            ["ab", "abc", "aab"],
            ["a", "ba", "acb"],
            id="lookahead that looks back behind its own start",
        ),
        pytest.param(
            concat([word("x"), behind(concat([word("x"), ahead(word("y"))])), ANY_CHAR]),
            ["xy"],
            ["xx", "x", "xyy"],
            id="lookbehind that looks ahead of its own end",
        ),
        pytest.param(
            concat([ANY_TEXT, behind(concat([word("a"), END]), negative=True)]),
            ["", "ab"],
            ["a", "ba"],
            id="lookbehind with the end of the text in it",
        ),
        pytest.param(
            concat([ANY_TEXT, Assert("word_boundary", WORD), word("ab"), ANY_TEXT]),
            ["ab", "-ab", "- abb"],
            ["aab", "bab"],
            id="word boundary inside a search",
        ),
    ],
)
def test_look_examples(node: Regular, accepted: list[str], rejected: list[str]) -> None:
    dfa = CharDFA.from_regular(node)
    assert [t for t in accepted if not dfa.accepts(t)] == []
    assert [t for t in rejected if dfa.accepts(t)] == []


# ---------------------------------------------------------------------- algebra

PLAIN = trees(LEAVES, looks=False, algebra=False)
MAXIMA = [None, 0, 1, 2, 3]


@given(PLAIN, PLAIN)
def test_algebra_agrees_with_membership(a: Regular, b: Regular) -> None:
    left, right = CharDFA.from_regular(a), CharDFA.from_regular(b)
    in_left = {t for t in TEXTS if left.accepts(t)}
    in_right = {t for t in TEXTS if right.accepts(t)}
    for dfa, expected in [
        (left.intersect(right), in_left & in_right),
        (left.union(right), in_left | in_right),
        (left.difference(right), in_left - in_right),
        (left.complement(), set(TEXTS) - in_left),
        (left.concat(right), {x + y for x in in_left for y in in_right}),
    ]:
        assert {t for t in TEXTS if dfa.accepts(t)} == expected & set(TEXTS)
        check_canonical(dfa)
    assert left.is_subset(right) == left.difference(right).is_empty
    assert left.is_disjoint(right) == left.intersect(right).is_empty


@given(PLAIN, PLAIN)
def test_equal_languages_are_equal_values(a: Regular, b: Regular) -> None:
    left, right = CharDFA.from_regular(a), CharDFA.from_regular(b)
    either = left.union(right)
    assert either == right.union(left)
    assert hash(either) == hash(right.union(left))
    assert either.complement() == left.complement().intersect(right.complement())
    assert either.complement().complement() == either
    assert left.difference(right).union(left.intersect(right)) == left
    assert left.concat(right) == CharDFA.from_regular(concat([a, b]))
    assert left.star() == CharDFA.from_regular(Repeat(a, 0, None))
    assert left.union(left.complement()).is_universal
    assert (left == right) == (left.is_subset(right) and right.is_subset(left))


@given(PLAIN, st.integers(0, 3), st.sampled_from(MAXIMA))
def test_bounded_restricts_the_length(node: Regular, low: int, high: int | None) -> None:
    dfa = CharDFA.from_regular(node)
    bounded = dfa.bounded(low, high)
    for value in TEXTS:
        fits = low <= len(value) and (high is None or len(value) <= high)
        assert bounded.accepts(value) == (fits and dfa.accepts(value))
    check_canonical(bounded)


@given(PLAIN)
def test_lengths_and_listing_agree_with_membership(node: Regular) -> None:
    dfa = CharDFA.from_regular(node).intersect(
        CharDFA.from_regular(Repeat(chars(*((ord(c), ord(c)) for c in ALPHABET)), 0, None))
    )
    shortest = dfa.shortest()
    if shortest is None:
        assert dfa.is_empty
        assert dfa.max_length == -1
        assert dfa.strings(0) == []
        return
    accepted = [t for t in TEXTS if dfa.accepts(t)]
    assert dfa.accepts(shortest)
    assert dfa.min_length == len(shortest)
    assert not any(len(t) < len(shortest) for t in accepted)
    short = dfa.bounded(0, 4)
    if not short.is_empty:
        assert short.max_length == max(map(len, accepted))
        assert short.strings(len(TEXTS)) == sorted(accepted)
        with pytest.raises(LimitError):
            short.strings(len(accepted) - 1)
    if dfa.is_finite:
        assert len(dfa.strings(10_000)[-1]) <= (dfa.max_length or 0)
    else:
        with pytest.raises(LimitError):
            dfa.strings(10_000)


# ---------------------------------------------------------------------- constructors


@given(st.lists(st.text("abé\U0001f600", max_size=5), max_size=12))
def test_from_strings_is_the_set_of_strings(strings: list[str]) -> None:
    dfa = CharDFA.from_strings(strings)
    check_canonical(dfa)
    assert dfa.strings(12) == sorted(set(strings))
    assert dfa == CharDFA.from_regular(Union(tuple(text(s) for s in strings)))


def test_from_strings_takes_ten_thousand_strings() -> None:
    draw = random.Random(7)
    strings = {"".join(draw.choices("abcdefghij", k=8)) for _ in range(10_000)}
    assert CharDFA.from_strings(strings).strings(10_000) == sorted(strings)


def test_from_strings_refuses_a_lone_surrogate() -> None:
    with pytest.raises(GrammarError, match="lone surrogate"):
        CharDFA.from_strings(["ok", "\ud800"])


@pytest.mark.parametrize("members", [WORD, NEWLINE.complement(), ANY_CHAR.set, CharSet(())])
@pytest.mark.parametrize(("low", "high"), [(0, None), (2, None), (0, 0), (0, 3), (2, 4), (3, 2)])
def test_from_charset_repeat_is_the_repeat(members: CharSet, low: int, high: int | None) -> None:
    dfa = CharDFA.from_charset_repeat(members, low, high)
    check_canonical(dfa)
    node = NEVER if high is not None and high < low else repeat(Chars(members), low, high)
    assert dfa == CharDFA.from_regular(node)


def test_every_text_and_no_text() -> None:
    assert CharDFA.any_text() == CharDFA.from_regular(ANY_TEXT)
    assert CharDFA.never() == CharDFA.from_regular(NEVER)
    assert CharDFA.any_text().is_universal
    assert CharDFA.never().is_empty
    assert CharDFA.any_text().complement() == CharDFA.never()
    assert not CharDFA.any_text().accepts("a\ud800")
    assert CharDFA.any_text().accepts("\ue000\ud7ff\U0010ffff")
    with pytest.raises(ValueError, match="empty language"):
        _ = CharDFA.never().min_length


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("node", "limit"),
    [
        (Repeat(Repeat(word("a"), 1, 1000), 1, 1000), "nfa_states"),
        (Repeat(Repeat(Repeat(word("ab"), 0, 10**9), 0, 10**9), 5, 10**9), "nfa_states"),
        (concat([ANY_TEXT, word("a"), Repeat(ANY_CHAR, 40, 40)]), "dfa_states"),
        (
            Repeat(
                Union((word("a"), concat([repeat(word("b"), 0, 1), repeat(word("c"), 0, 1)]))),
                0,
                8_000,
            ),
            "dfa_states",
        ),
        (
            concat([ANY_TEXT, word("a"), ahead(word("b")), Repeat(ANY_CHAR, 40, 40)]),
            "dfa_states",
        ),
    ],
)
def test_explosions_stop_at_a_limit(node: Regular, limit: str) -> None:
    with pytest.raises(LimitError) as caught:
        CharDFA.from_regular(node, limits=Limits(dfa_states=500), culprit="the pattern")
    assert caught.value.limit == limit
    assert caught.value.culprit == "the pattern"


def test_deep_trees_need_no_recursion() -> None:
    node: Regular = word("a")
    for _ in range(20_000):
        node = Concat((node, EMPTY))
    assert CharDFA.from_regular(node).strings(1) == ["a"]


def test_deeply_nested_looks_stop_at_a_limit() -> None:
    node: Regular = word("a")
    for _ in range(300):
        node = concat([word("a"), ahead(node)])
    with pytest.raises(LimitError):
        CharDFA.from_regular(node)


def test_bounding_an_unbounded_language_too_far_stops_at_a_limit() -> None:
    with pytest.raises(LimitError):
        CharDFA.any_text().bounded(0, 10**9)
    finite = CharDFA.from_strings(["a", "bcd"])
    assert finite.bounded(0, 10**9) == finite
    assert finite.bounded(10**9, None).is_empty


def test_a_long_chain_is_minimized_in_near_linear_time() -> None:
    # Quadratic refinement would take minutes here.
    dfa = CharDFA.from_regular(Repeat(ANY_CHAR, 0, 19_000))
    assert dfa.max_length == 19_000


# ---------------------------------------------------------------------- second opinions

PATTERNS = [
    r"[a-z_][a-z0-9_-]{0,20}",
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"(-?(0|[1-9]\d*))(\.\d+)?([eE][+-]?\d+)?",
    r"((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}",
    r"(?!.*--)[a-z-]+(?<!-)",
    r"([a-z]+\b,? ?)+",
    r"((?!ab).)*c?",
    r"(a|b)*a(a|b){6}",
    r"(?:^|x)a*(?:$|y)",
]
NEAR = "abcxy019-_.,:eE+ f"


def near_misses(dfa: CharDFA, draw: random.Random) -> set[str]:
    """Texts of a language, and what one or two edits make of them."""
    found: set[str] = set()
    for _ in range(60):
        letters: list[str] = []
        state = 1
        while not (dfa.accepting[state] and draw.random() < 0.2) and len(letters) < 60:
            character = draw.choice(NEAR)
            interval = np.searchsorted(dfa.cuts, ord(character), "right") - 1
            target = dfa.trans[state, dfa.interval_class[interval]]
            if target:
                letters.append(character)
                state = int(target)
            elif draw.random() < 0.02:
                break
        found.add("".join(letters))
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(letters) + 1)
            letters[at : at + draw.randrange(2)] = draw.choice([[], [draw.choice(NEAR)]])
        found.add("".join(letters))
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_agree_with_re(pattern: str) -> None:
    full = CharDFA.from_regular(fullmatch_language(pattern, dialect="python", flags="a"))
    within = CharDFA.from_regular(search_language(pattern, dialect="python", flags="a"))
    expected = re.compile(pattern, re.ASCII)
    for value in near_misses(full, random.Random(5)):
        assert full.accepts(value) == bool(expected.fullmatch(value)), value
        assert within.accepts(value) == bool(expected.search(value)), value


@pytest.mark.parametrize("pattern", [p for p in PATTERNS if "(?" not in p and "\\b" not in p])
def test_patterns_have_as_many_states_as_for_interegular(pattern: str) -> None:
    ascii_only = pattern.replace(r"\d", "[0-9]")
    dfa = CharDFA.from_regular(fullmatch_language(ascii_only, dialect="python"))
    other = interegular.parse_pattern(ascii_only).to_fsm().reduce()
    live = [state for state in other.states if other.islive(state)]
    assert len(dfa.accepting) - 1 == len(live)


@given(trees(LEAVES, looks=False, algebra=False), st.integers(0, 4), st.integers(0, 6))
def test_bounded_languages_are_what_listing_their_texts_gives(
    node: Regular, low: int, more: int
) -> None:
    # The table of a product with a counter is merged in one pass, that of a list as it is made.
    bounded = CharDFA.from_regular(node).bounded(low, low + more)
    check_canonical(bounded)
    try:
        texts = bounded.strings(2_000)
    except LimitError:
        assume(False)
    assert CharDFA.from_strings(texts) == bounded


def test_what_a_pattern_or_a_bound_spells_out_is_no_explosion() -> None:
    limits = Limits(dfa_states=100)
    chain = CharDFA.from_regular(Repeat(word("a"), 2, 30_000), limits=limits)
    assert chain.max_length == 30_000
    words = CharDFA.from_regular(Repeat(concat([word("ab"), repeat(word("c"), 1, None)]), 0, None))
    counted = words.bounded(0, 5_000, limits=limits)
    check_canonical(counted)
    assert counted.accepts("abc" * 1_666)
    assert not counted.accepts("abc" * 1_667)
    with pytest.raises(LimitError) as caught:
        words.bounded(0, 50_000, limits=limits, culprit="words")
    assert (caught.value.limit, caught.value.culprit) == ("dfa_states", "words")
