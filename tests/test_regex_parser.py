"""The regex front end against ``re`` and ``regress``, through a slow matcher over the trees.

The matcher below knows nothing of automata: it computes the set of positions where a match of
a node that begins at a position can end.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import compress, product
from pathlib import Path
from typing import Any

import pytest
import regress
from effort import effort
from hypothesis import given
from hypothesis import strategies as st

from maskwright.errors import GrammarError
from maskwright.grammar.regex import fullmatch_language, parse_regex, search_language
from maskwright.grammar.regex.parser import MAX_GROUP_DEPTH
from maskwright.grammar.regex.unicode_data import all_characters, unicode_property
from maskwright.grammar.regular import (
    ANY_TEXT,
    MAX_CODE_POINT,
    Assert,
    Chars,
    CharSet,
    Concat,
    Look,
    Regular,
    Repeat,
    Union,
    chars,
    concat,
    text,
)

EVERYTHING = all_characters()
SCALAR_VALUES = EVERYTHING[:0xD800] + EVERYTHING[0xE000:]


class Matches:
    """Where matches in one text can end; the definition of the nodes, read literally."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.known: dict[tuple[int, int], frozenset[int]] = {}

    def ends(self, node: Regular, start: int) -> frozenset[int]:
        key = (id(node), start)
        if key not in self.known:
            self.known[key] = frozenset(self._ends(node, start))
        return self.known[key]

    def whole(self, node: Regular) -> bool:
        return len(self.subject) in self.ends(node, 0)

    def somewhere(self, node: Regular) -> bool:
        return any(self.ends(node, start) for start in range(len(self.subject) + 1))

    def _ends(self, node: Regular, start: int) -> set[int]:
        if isinstance(node, Chars):
            inside = is_member(self.subject[start : start + 1], node.set)
            return {start + 1} if inside else set()
        if isinstance(node, Concat):
            positions = {start}
            for item in node.items:
                positions = {end for p in positions for end in self.ends(item, p)}
            return positions
        if isinstance(node, Union):
            return {end for option in node.options for end in self.ends(option, start)}
        if isinstance(node, Repeat):
            return self._repeat_ends(node, start)
        if isinstance(node, Assert):
            return {start} if self._holds(node, start) else set()
        assert isinstance(node, Look)
        if node.behind:
            found = any(start in self.ends(node.item, p) for p in range(start + 1))
        else:
            found = bool(self.ends(node.item, start))
        return {start} if found is not node.negative else set()

    def _repeat_ends(self, node: Repeat, start: int) -> set[int]:
        positions = {start}
        result = {start} if node.min == 0 else set()
        seen: list[set[int]] = []
        count = 0
        while positions and (node.max is None or count < node.max):
            if count >= node.min and positions in seen:
                break
            if count < node.min and seen and positions == seen[-1]:
                count = node.min  # Further copies change nothing.
                result |= positions
                continue
            seen.append(positions)
            positions = {end for p in positions for end in self.ends(node.item, p)}
            count += 1
            if count >= node.min:
                result |= positions
        return result

    def _holds(self, node: Assert, position: int) -> bool:
        before = self.subject[position - 1 : position] if position else ""
        after = self.subject[position : position + 1]
        if node.kind == "start":
            return not before
        if node.kind == "end":
            return not after
        if node.kind == "line_start":
            return not before or is_member(before, node.set)
        if node.kind == "line_end":
            return not after or is_member(after, node.set)
        boundary = is_member(before, node.set) != is_member(after, node.set)
        return boundary is (node.kind == "word_boundary")


def is_member(character: str, characters: CharSet) -> bool:
    """Whether there is a character, and in the set (which may have hundreds of ranges)."""
    if not character:
        return False
    code_point = ord(character)
    index = bisect_right(characters.ranges, (code_point, MAX_CODE_POINT)) - 1
    return index >= 0 and code_point <= characters.ranges[index][1]


def characters_of(node: Regular) -> str:
    """All characters that a single-character node matches."""
    assert isinstance(node, Chars)
    return "".join(EVERYTHING[first : last + 1] for first, last in node.set.ranges)


def python_verdicts(pattern: str, subject: str) -> tuple[bool, bool]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return bool(re.fullmatch(pattern, subject)), bool(re.search(pattern, subject))


@lru_cache(maxsize=16)
def ecma_oracle(pattern: str) -> regress.Regex:
    """With the flag ``u`` if that is allowed, else in browser mode."""
    try:
        return regress.Regex(pattern, "u")
    except regress.RegressError:
        return regress.Regex(pattern)


def ecma_verdicts(pattern: str, subject: str) -> tuple[bool, bool]:
    whole = ecma_oracle(f"^(?:{pattern})$").find(subject) is not None
    return whole, ecma_oracle(pattern).find(subject) is not None


@lru_cache(maxsize=16)
def languages(pattern: str, dialect: Any) -> tuple[Regular, Regular, Regular]:
    return (
        parse_regex(pattern, dialect=dialect),
        fullmatch_language(pattern, dialect=dialect),
        search_language(pattern, dialect=dialect),
    )


def check_all_routes(pattern: str, dialect: Any, subject: str, expected: tuple[bool, bool]) -> None:
    matches = Matches(subject)
    tree, whole, within = languages(pattern, dialect)
    where = f"{dialect} {pattern!r} on {subject!r}"
    assert (matches.whole(tree), matches.somewhere(tree)) == expected, where
    assert matches.whole(whole) is expected[0], where
    assert matches.whole(within) is expected[1], where


SUBJECTS = [
    "", "a", "b", "A", "ab", "ba", "aa", "aab", "abc", "abab", "a\n", "\n", "a\nb", "\na", "ab\n",
    "a b", "_", "1", "12", "a1", "-", "a-b", "]", "[", "{", "a{", "a{,2}", "\\", "é", "É", "ß",
    "\u017f", "\u212a", "\u0130", "\u0131", "i", "s", "k", "\x01", "\x08", "\x1c", "\x85",
    "\ufeff", "\u2028", "😀",
    "a😀", "٣", ".", "^", "$", " ", "\t", "x", "Z", "/", "a/b", "aaaa", "aaaaa", "@", "p",
    "\u03b1\u0391",
    "\u03c2", "\u03c3", "u", "n", "c", "&", "|", "\r", "\x00", "8", "\x008",
]  # fmt: skip

SHARED_PATTERNS = [
    "", "a", "abc", "a|b", "a|", "|a", "(a|b)*", "(?:ab)+", "a*?b", "a+?", "a??", "a{2}", "a{2,}",
    "a{1,3}?", "(a{2}){2}", "^a", "a$", "^a$", "^a|b$", "^(a|b)$", "(^a|b)", "(a|b$)", "(^a|^b)c?",
    "^", "$", "^$", "$^", "a^", "$a", "^^a$$", "a|^$", "(?:^a|b)(?:c|d$)", "(^)a", "a($)", "(^|a)b",
    ".", ".*", "^.*$", ".*a", "a.*", "a.*b", "^.*a", "^(.|\\n)*$", "[ab]", "[^ab]", "[a-c]",
    "[a-]", "[-a]", "[a\\-z]", "[\\]]", "[\\\\]", "[.]", "[$^]", "[a^]", "[\\d_]", "[^\\d\\s]",
    "[\\w-]", "[\\w\\-.]", "\\.", "\\/", "\\-", "\\@", "\\$", "\\^", "\\{", "\\t",
    "\\n", "\\x41", "\\u0041", "\\0", "\\b", "\\ba\\b", "a\\b", "\\Ba", "a\\B", "\\bab", "(?=a)",
    "(?=a)ab", "(?!a)", "^(?!a)", "^(?!ab).*$", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?<!^)a",
    "a(?=b)", "a(?!b)", "a(?=$)", "a(?=b|$)", "^(?=.*a)(?=.*b)", "(?=^)a", "(?=a)*", "(?=a)+b",
    "(?:(?=a)b)*", "(a*)*", "(a|b*)*", "(a*)+", "()", "()*", "(|a)+", "a{0}", "(ab){0,2}", "(?!)",
    "(a)(b)", "x*a", "(x|y)*a", "(?:a?){3}", "a{3,4}b?", "((a)|(b))", "[[a]", "]", "}", "a{", "{a",
    "a{,2", "a{x}", "a{1", "(?:)", "[a-a]", "[\\x41-\\x43]", "[\\b]", "(?:a|b|ab)$", "\n", "é",
    "😀", "[😀]", "^[^😀]$", "[é-ü]", "(?i:a)b", "(?i:A)", "(?s:.)", "(?m:^)a",
    "(?m:a$)", "(?-i:a)",
    "(?i:é)", "(?i:s)", "(?i:k)", "(?i:[a-c])", "(?i:[^a])", "(?i:ς)", "(?i:ß)",
    "(?m:^b|a$)", "(?:a$|b)\\n?", "a\\s*$", "(?m:^$)", "a$\\n", "(a$)*\\n", "\\d+$", "^\\s*$",
]  # fmt: skip

PYTHON_PATTERNS = [
    "\\A", "\\Aa", "a\\Z", "\\Z", "a\\Z|b", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "[\\w]+",
    "[^\\W\\d_]", "(?a)\\w", "(?a)\\d", "(?a:\\s)", "(?a:(?u:\\w))", "(?i)a", "(?i)AB", "(?i)i",
    "(?i)\u0131", "(?i)[h-j]", "(?i)[^h-j]", "(?ai)k", "(?ai)[^k]", "(?i)\\w", "(?s).", "(?m)^b",
    "(?m)a$", "(?ms)^.*$", "(?x) a  b # c", "(?x)a\\ b", "(?x)a[ ]b", "(?x) a *", "(?x:a b)c",
    "(?P<name>a)", "(?P<x>a)(?P<y>b)", "(?#comment)a", "a(?#c)*", "a{,2}", "a{,}", "a{}", "[]a]",
    "[^]a]", "[]-a]", "\\a", "\\f", "\\v", "\\r", "\\101", "\\07", "[\\1]", "[\\101]",
    "\\U0001F600",
    "\\N{DIGIT ONE}", "[\\N{DIGIT ONE}]", "\\é", "\\ud83d", "(?i)(?m)a$", "(?#x)(?i)A", "a++",
    "a++b", "a?+a", "a*+a", "a{1,2}+a", "a{2}+", "[ab]++b", "(?>a)b", "(?>ab)",
    "(?>[ab]{2})", "(?i-s:a)", "(?i:a(?-i:b))", "[&&a]", "[a||b]", "(?i)\\u0345", "(?i)[\\Wk]",
]  # fmt: skip

ECMA_PATTERNS = [
    "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "[]", "[^]", "[^]*", "a|[]", "\\u{41}", "\\u{1F600}",
    "\\ud83d\\ude00", "[\\ud83d\\ude00]", "\\cA", "\\ca", "[\\cA]", "\\p{L}", "\\p{Lu}", "\\P{L}",
    "[\\p{L}\\d]", "[^\\p{L}]", "\\p{Letter}+", "\\p{gc=Nd}", "\\p{ASCII}", "\\p{White_Space}",
    "\\p{Script=Greek}", "\\p{sc=Grek}", "\\p{scx=Grek}", "\\p{Alphabetic}", "(?<name>a)",
    "(?<$x>a)", "(?<a>x)|(?<b>a)", "a{,2}", "[\\d-z]", "[a-\\d]", "[\\w-.]", "\\1", "\\101", "\\08",
    "\\8", "\\377", "\\400", "[\\1]", "[\\b]", "\\_", "\\:", "\\'", "\\é", "[\\@]", "(?=a)*b",
    "[[:alpha:]]", "[[a-z]*[-]?]*", "(?i:\\w)", "(?i:\\W)", "(?i:\\b)", "(?i:[\\w-])",
    "(?i:\\p{Lu})", "(?i:\\P{Lu})", "(?i:[^\\P{Lu}])", "(?i-m:a)", "\\d{3", "}}",
    "(?<=a|ab)c", "(?<=a*)b", "((?<=a))*b", "^\\S(|(.|\\n)*\\S)$", "\\v", "\\f", "\\x61",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SHARED_PATTERNS + PYTHON_PATTERNS)
def test_python_pattern_agrees_with_re(pattern: str) -> None:
    for subject in SUBJECTS:
        if "\\B" in pattern and not subject:
            continue  # Documented: as of Python 3.14.
        check_all_routes(pattern, "python", subject, python_verdicts(pattern, subject))


@pytest.mark.parametrize("pattern", SHARED_PATTERNS + ECMA_PATTERNS)
def test_ecma_pattern_agrees_with_regress(pattern: str) -> None:
    for subject in SUBJECTS:
        check_all_routes(pattern, "ecma", subject, ecma_verdicts(pattern, subject))


def test_ecma_accepts_flags_at_the_very_start() -> None:
    for subject in SUBJECTS:
        expected = ecma_verdicts("(?i:ab|s)", subject)
        check_all_routes("(?i)ab|s", "ecma", subject, expected)


@pytest.mark.parametrize("flags", ["i", "m", "s", "im"])
def test_flags_argument_is_a_group_around_the_pattern(flags: str) -> None:
    for dialect in ("python", "ecma"):
        given_flags = parse_regex("^a.[^b]$", dialect=dialect, flags=flags)
        grouped = parse_regex(f"(?{flags}:^a.[^b]$)", dialect=dialect)
        assert given_flags == grouped


# -- random patterns ---------------------------------------------------------------------------

ATOMS = ["a", "b", "A", "1", "_", "é", ".", "\\d", "\\w", "\\s", "\\W", "\\S", "[ab]", "[^a]"]
ATOMS += ["[a-c1]", "[^\\s]", "[\\w-]", "\\n", " ", "[-_]"]
ANCHORS = ["^", "$", "\\b"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??", "{1,2}?"]
OPENERS = ["(", "(?:", "(?i:", "(?s:", "(?m:", "(?-i:"]
LOOKS = ["(?=", "(?!", "(?<=", "(?<!"]


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(inner, max_size=4).map("".join)
    body = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    group = st.builds(lambda opener, b: f"{opener}{b})", st.sampled_from(OPENERS), body)
    look = st.builds(lambda opener, b: f"{opener}{b})", st.sampled_from(LOOKS), body)
    repeat = st.builds(
        str.__add__, st.one_of(st.sampled_from(ATOMS), group), st.sampled_from(QUANTIFIERS)
    )
    return st.one_of(group, look, repeat, body)


PATTERNS = st.recursive(st.sampled_from(ATOMS + ANCHORS), _compound, max_leaves=10)
# All short texts over a few letters, and some longer ones.
TEXTS = ["".join(t) for n in range(3) for t in product("ab1\n", repeat=n)]
TEXTS += ["A", "_", " ", "é", "Aé", "a b", "aab", "abb", "bab", "b\na", "a\nb\n", "aaaa", "1_a "]


@effort(100)
@given(PATTERNS)
def test_random_python_patterns_agree_with_re(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        if "look-behind requires fixed-width" in str(error):
            return
        raise
    for subject in TEXTS:
        check_all_routes(pattern, "python", subject, python_verdicts(pattern, subject))


@effort(100)
@given(PATTERNS)
def test_random_ecma_patterns_agree_with_regress(pattern: str) -> None:
    for subject in TEXTS:
        check_all_routes(pattern, "ecma", subject, ecma_verdicts(pattern, subject))


SYNTAX_SOUP = st.lists(
    st.sampled_from(
        [
            *"ab1-^$.|()[]{}*+?\\,:=!<>PiAZdwxu_#& \n",
            "(?",
            "(?:",
            "[^",
            "\\d",
            "{1,2}",
            "\\x4",
            "1}",
        ]
    ),
    max_size=10,
).map("".join)


@effort(400)
@given(SYNTAX_SOUP)
def test_python_syntax_is_accepted_exactly_when_re_accepts_it(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
        accepted = True
    except re.error as error:
        if "look-behind requires" in str(error):
            return
        accepted = False
    problem = problem_with(pattern)
    if accepted:
        assert not problem or any(word in problem for word in NOT_REGULAR), problem
    else:
        assert problem


NOT_REGULAR = ("backreference", "conditional", "atomic", "possessive")


def problem_with(python_pattern: str) -> str:
    try:
        parse_regex(python_pattern, dialect="python")
    except GrammarError as error:
        return error.message
    return ""


@effort(400)
@given(SYNTAX_SOUP)
def test_what_regress_rejects_in_browser_mode_is_rejected(pattern: str) -> None:
    try:
        parse_regex(pattern, dialect="ecma")
    except GrammarError:
        return
    if not re.match(r"\(\?[ims]+\)", pattern):
        regress.Regex(pattern)


# -- errors ------------------------------------------------------------------------------------

PYTHON_ERRORS = [
    ("(a", 1, 1, "never closed"),
    ("ab)", 1, 3, "closes no group"),
    ("[a", 1, 1, "never closed"),
    ("a\n[b", 2, 1, "never closed"),
    ("a\nb(c\nd", 2, 2, "never closed"),
    ("*a", 1, 1, "nothing"),
    ("a|+", 1, 3, "nothing"),
    ("^*", 1, 2, "nothing"),
    ("a**", 1, 3, "another quantifier"),
    ("a{2}{3}", 1, 5, "another quantifier"),
    ("a{3,2}", 1, 2, "wrong way round"),
    ("a{99999999999}", 1, 2, "at most"),
    ("a{" + "9" * 5000 + "}", 1, 2, "at most"),
    ("[z-a]", 1, 2, "wrong way round"),
    ("[a-\\d]", 1, 2, "class"),
    ("a\\", 1, 2, "ends in a backslash"),
    ("\\q", 1, 1, "unknown escape"),
    ("\\p{L}", 1, 1, "no Unicode properties"),
    ("\\x4", 1, 1, "2 hexadecimal digits"),
    ("\\U00110000", 1, 1, "10FFFF"),
    ("\\N{NO SUCH}", 1, 1, "no character named"),
    ("\\777", 1, 1, "octal"),
    ("(a)\\1", 1, 4, "backreference"),
    ("(?P<n>a)(?P=n)", 1, 9, "backreference"),
    ("(a)?(?(1)b|c)", 1, 5, "conditional"),
    ("(?>a|ab)c", 1, 1, "atomic"),
    ("(?:ab)*+", 1, 7, "possessive"),
    ("(?P<1>a)", 1, 1, "identifier"),
    ("(?P<n>a)(?P<n>b)", 1, 9, "another group"),
    ("(?<n>a)", 1, 1, "(?P<name>"),
    ("a(?i)b", 1, 2, "at its start"),
    ("(?L)a", 1, 1, "bytes"),
    ("(?au)a", 1, 1, "exclude"),
    ("(?-a:b)", 1, 1, "switched off"),
    ("(?#a", 1, 1, "never closed"),
    ("(?R)", 1, 1, "unknown group"),
]
ECMA_ERRORS = [
    ("(a", 1, 1, "never closed"),
    ("a)", 1, 2, "closes no group"),
    ("[a", 1, 1, "never closed"),
    ("^*", 1, 2, "nothing"),
    ("{2}", 1, 1, "nothing"),
    ("a++", 1, 3, "another quantifier"),
    ("(?<=a)*", 1, 7, "nothing"),
    ("a{2,1}", 1, 2, "wrong way round"),
    ("[z-a]", 1, 2, "wrong way round"),
    ("(a)\\1", 1, 4, "backreference"),
    ("\\1(a)", 1, 1, "backreference"),
    ("(?<n>a)\\k<n>", 1, 8, "backreference"),
    ("\\Aa", 1, 1, "'^'"),
    ("a\\Z", 1, 2, "'$'"),
    ("a\\z", 1, 2, "'$'"),
    ("\\a", 1, 1, "bell"),
    ("[\\h]", 1, 2, "horizontal"),
    ("\\x4", 1, 1, "2 hexadecimal digits"),
    ("\\u12", 1, 1, "4 hexadecimal digits"),
    ("\\u{110000}", 1, 1, "10FFFF"),
    ("\\u{}", 1, 1, "hexadecimal"),
    ("\\c1", 1, 1, "letter"),
    ("\\pL", 1, 1, "braces"),
    ("\\p{Foo}", 1, 1, "'Foo'"),
    ("\\p{Script=Foo}", 1, 1, "'Script=Foo'"),
    ("\\p{IsLu}", 1, 1, "\\p{Lu}"),
    ("a(?i)b", 1, 2, "(?i:"),
    ("(?ii:a)", 1, 1, "once"),
    ("(?P<n>a)", 1, 1, "(?<name>"),
    ("(?<1>a)", 1, 1, "identifier"),
    ("(?>a)", 1, 1, "atomic"),
    ("(?#a)", 1, 1, "comments"),
    ("(?R)", 1, 1, "unknown group"),
]


@pytest.mark.parametrize(
    ("dialect", "pattern", "line", "column", "part"),
    [("python", *case) for case in PYTHON_ERRORS] + [("ecma", *case) for case in ECMA_ERRORS],
)
def test_errors_say_where_and_what(
    dialect: Any, pattern: str, line: int, column: int, part: str
) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_regex(pattern, dialect=dialect)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert part in caught.value.message


def test_error_in_a_schema_names_the_pointer_and_the_place_in_the_pattern() -> None:
    with pytest.raises(GrammarError) as caught:
        search_language("a(", dialect="ecma", pointer="#/properties/x/pattern")
    assert caught.value.pointer == "#/properties/x/pattern"
    assert "column 2 of the pattern" in str(caught.value)
    assert "#/properties/x/pattern" in str(caught.value)


@pytest.mark.parametrize("dialect", ["python", "ecma"])
def test_nesting_is_bounded_by_an_error_and_not_by_the_stack(dialect: Any) -> None:
    def nested(depth: int) -> str:
        return "(a|" * depth + "b" + ")*" * depth

    deepest = nested(MAX_GROUP_DEPTH)
    assert parse_regex(deepest, dialect=dialect) == parse_regex(deepest, dialect=dialect)
    assert isinstance(hash(search_language(deepest, dialect=dialect)), int)
    with pytest.raises(GrammarError, match="nested more than"):
        parse_regex(nested(100_000), dialect=dialect)


@pytest.mark.parametrize(
    ("pattern", "dialect", "flags"),
    [("a", "ecma", "x"), ("a", "python", "L"), ("a", "perl", ""), (1, "python", "")],
)
def test_bad_arguments_are_grammar_errors(pattern: Any, dialect: Any, flags: str) -> None:
    with pytest.raises(GrammarError):
        parse_regex(pattern, dialect=dialect, flags=flags)


# -- the shape of trees ------------------------------------------------------------------------


def test_large_repeats_stay_repeats() -> None:
    digit = chars((0x30, 0x39))
    assert parse_regex("\\d{3,1000000}", dialect="ecma") == Repeat(digit, 3, 1_000_000)


def test_alternatives_of_one_character_become_one_set() -> None:
    assert parse_regex("a|b|[x-z]", dialect="ecma") == chars((97, 98), (120, 122))


@pytest.mark.parametrize("pattern", ["^ab$", "^(?:ab)$", "(^ab$)", "^^ab$$", "^(ab$)"])
def test_anchors_at_both_ends_leave_only_the_text(pattern: str) -> None:
    assert search_language(pattern, dialect="ecma") == text("ab")
    for dialect in ("python", "ecma"):
        assert fullmatch_language(pattern, dialect=dialect) == text("ab")


def test_dollar_in_a_python_search_allows_one_line_feed() -> None:
    line_feed = Repeat(chars((0x0A, 0x0A)), 0, 1)
    assert search_language("^a$", dialect="python") == Concat((text("a"), line_feed))
    assert search_language("^a\\Z", dialect="python") == text("a")


def test_search_keeps_no_anchor_of_the_usual_forms() -> None:
    for pattern in ["^a", "a$", "^a|b$", "(^a|b)c", "a(b|c$)", "^(a|b)*$", "^a|^b", "^$|^x$"]:
        for dialect in ("python", "ecma"):
            assert not has_anchor(search_language(pattern, dialect=dialect)), pattern


def test_parts_that_may_be_empty_vanish_next_to_any_text() -> None:
    a = text("a")
    for pattern in ["a", ".*a.*", "x*a", "a{1,9}", ".*?a", "(?:bc?)*a"]:
        language = search_language(pattern, dialect="ecma")
        assert language == concat([ANY_TEXT, a, ANY_TEXT]), pattern
    for pattern in ["", "a*", "a|", ".*", "^", "$", "a?b?"]:
        assert search_language(pattern, dialect="ecma") == ANY_TEXT, pattern


def test_any_text_is_shared_by_alternatives_without_anchors() -> None:
    language = search_language("foo|bar", dialect="ecma")
    assert language == concat([ANY_TEXT, Union((text("foo"), text("bar"))), ANY_TEXT])


def has_anchor(node: Regular) -> bool:
    if isinstance(node, Concat):
        return any(map(has_anchor, node.items))
    if isinstance(node, Union):
        return any(map(has_anchor, node.options))
    if isinstance(node, Repeat):
        return has_anchor(node.item)
    return isinstance(node, Assert | Look)


# -- sets of characters ------------------------------------------------------------------------


def test_python_classes_are_those_of_re_on_every_character() -> None:
    for pattern in ["\\w", "\\d", "\\s", "\\W", "[^\\W\\d_]", ".", "[^a]"]:
        expected = "".join(re.findall(f"{pattern}+", SCALAR_VALUES))
        assert characters_of(parse_regex(pattern, dialect="python")) == expected, pattern


def test_python_ignore_case_is_that_of_re_on_every_third_cased_character() -> None:
    changes = (c.lower() != c or c.upper() != c or c.casefold() != c for c in EVERYTHING)
    cased = "".join(compress(EVERYTHING, changes))
    assert len(cased) > 2500
    for character in cased[::3]:
        expected = "".join(re.findall(character, cased, re.IGNORECASE))
        assert characters_of(parse_regex(character, dialect="python", flags="i")) == expected


def test_simple_folding_is_that_of_regress_on_a_sample() -> None:
    changes = (c.lower() != c or c.upper() != c or c.casefold() != c for c in EVERYTHING)
    cased = "".join(compress(EVERYTHING, changes))
    encoded = cased.encode()
    for character in cased[::9] + "\xdf\u1e9e\u017f\u212a\u0130\u0131\u0390\u1fd3\ufb05":
        spans = [m.range() for m in regress.Regex(character, "iu").find_iter(cased) or ()]
        expected = "".join(encoded[span.start : span.stop].decode() for span in spans)
        assert characters_of(parse_regex(character, dialect="ecma", flags="i")) == expected


def test_word_class_negated_twice_is_itself_when_case_is_ignored() -> None:
    # By the definition; regress forgets the two letters that fold with s and k.
    for written in ("[^\\W]", "[\\w]", "\\w"):
        word = characters_of(parse_regex(written, dialect="ecma", flags="i"))
        assert word == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz\u017f\u212a"


def test_categories_are_those_of_a_full_scan() -> None:
    members: dict[str, list[str]] = {}
    for character in SCALAR_VALUES:
        members.setdefault(unicodedata.category(character), []).append(character)
    for category, expected in members.items():
        assert characters_of(Chars(unicode_property(category))) == "".join(expected), category


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("Letter", "L"),
        ("General_Category=Decimal_Number", "Nd"),
        ("digit", "Nd"),
        ("Cased_Letter", "LC"),
        ("Alpha", "Alphabetic"),
        ("scx=Greek", "Script_Extensions=Greek"),
    ],
)
def test_property_names_have_their_aliases(expression: str, same: str) -> None:
    assert unicode_property(expression) == unicode_property(same)


def test_property_without_the_regex_package_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(GrammarError, match="'Script=Thai' needs the package 'regex'"):
        parse_regex("\\p{Script=Thai}", dialect="ecma")


# -- patterns of real schemas ------------------------------------------------------------------


def _patterns_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str):
            yield value["pattern"]
        if isinstance(value.get("patternProperties"), dict):
            yield from value["patternProperties"]
        for member in value.values():
            yield from _patterns_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from _patterns_in(member)


def test_every_pattern_of_real_schemas_parses_or_is_invalid_for_regress(data_dir: Path) -> None:
    file = data_dir / "maskbench" / "dev.jsonl.gz"
    if not file.exists():
        pytest.skip(f"no MaskBench data at {file}")
    with gzip.open(file, "rt") as lines:
        schemas = (json.loads(line)["schema"] for line in lines if "attern" in line)
        patterns = sorted({p for schema in schemas for p in _patterns_in(schema)})
    assert len(patterns) > 500
    subjects = ["", "a", "2024-01-31", "1.2.3", "x_y"]
    for pattern in patterns:
        try:
            oracle = ecma_oracle(pattern)
        except regress.RegressError:
            continue
        language = search_language(pattern, dialect="ecma")
        for subject in subjects:
            expected = oracle.find(subject) is not None
            assert Matches(subject).whole(language) is expected, (pattern, subject)
