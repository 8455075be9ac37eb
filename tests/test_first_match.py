"""Where matches end: against ``re.match`` itself, on every text over a small alphabet."""

from __future__ import annotations

import itertools
import re

import pytest
from effort import effort
from hypothesis import assume, given
from hypothesis import strategies as st

from maskwright.errors import LimitError
from maskwright.grammar.automata.first_match import LooksOutsideError, first_matches
from maskwright.grammar.regex import parse_regex
from maskwright.limits import Limits

PATTERNS = [
    "a|ab", "ab|a", "a+", "a+(ba+)?", "a*?b", "(a|ab)(c|bcd)?", "(?:a|b)*?ab", "a{1,3}?b?",
    "(a|aa)*b", r"a\b", "(ab?|a)+", "a??b*?a", "(?!ab)[ab]+", "a+?(?=b|$)", "a$", "(a|b)+?(?!a)",
    "(a?b??)*c", "(a?b??)*?c", "((a?b)?c??)*", "((a|b??)*c?)*b", "(|a)+", "(a|(b|)c)*?b", "a(?!b)",
    "a*(?=b)", "(?:ab|A)c*", "x*?", "a(b|bc|c)*?(c|$)", "ab(?<!bb)c?", "[ab][ab]*?(?<!b)c",
]  # fmt: skip


def check(pattern: str, alphabet: str, length: int) -> None:
    matches = first_matches(parse_regex(pattern, dialect="python", ordered=True), culprit=pattern)
    compiled = re.compile(pattern)
    for size in range(length + 1):
        for letters in itertools.product(alphabet, repeat=size):
            text = "".join(letters)
            found = compiled.match(text)
            ends = [
                end
                for end in range(size + 1)
                if any(
                    match.language.accepts(text[:end])
                    and (match.rest is None or match.rest.accepts(text[end:]))
                    for match in matches
                )
            ]
            assert ends == ([] if found is None else [found.end()]), (pattern, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_chosen_patterns(pattern: str) -> None:
    check(pattern, "abc", 6)


def test_a_string_of_lark_ends_at_its_first_bare_quote() -> None:
    check(r'".*?(?<!\\)(\\\\)*?"', 'a"\\', 7)


atoms = st.sampled_from(
    ["a", "b", "c", "[ab]", "[^a]", ".", "(?=a)", "(?!b)", "(?<!a)", "$", r"\b"]
)
quantifiers = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}", "{0,2}?", "{2}"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, quantifiers).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@effort(150)
@given(patterns)
def test_generated_patterns(pattern: str) -> None:
    try:
        check(pattern, "abc", 4)
    except LooksOutsideError:
        assume(False)


@pytest.mark.parametrize("pattern", ["(?<=a)b", r"\bb", "^b", "a(?<!ba)b?", ".*?(?<!b)c"])
def test_what_looks_before_the_match_is_refused(pattern: str) -> None:
    with pytest.raises(LooksOutsideError):
        check(pattern, "abc", 1)


def test_lookbehinds_within_the_match_are_fine() -> None:
    check("ab(?<=ab)c?", "abc", 5)


def test_limits() -> None:
    with pytest.raises(LimitError, match="nfa_states"):
        first_matches(
            parse_regex("a{0,500}b", dialect="python", ordered=True),
            limits=Limits(nfa_states=100),
        )
