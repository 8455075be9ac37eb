"""Lark grammars: against Lark, on every text over a small alphabet and on texts in the wild."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import byte_texts
import lark
import pytest
from effort import effort
from hypothesis import assume, given
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput

import maskwright as mw
from maskwright.fsm.token_fsm import TokenFSM

COMPILER = mw.Compiler(byte_texts.BYTES)


def accepts(fsm: TokenFSM, text: str) -> bool:
    return byte_texts.accepts(fsm, text)


def parses(parser: lark.Lark, text: str) -> bool | None:
    """Whether Lark parses a text; ``None`` where it crashes."""
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    except RuntimeError:  # "Earley should not generate multiple start symbol items!"
        return None
    return True


def check(grammar: str, lexer: Any, alphabet: str, length: int) -> None:
    parser = lark.Lark(grammar, parser="earley", lexer=lexer)
    try:
        fsm = COMPILER.lark(grammar, lexer=lexer)
    except mw.UnsatisfiableError:
        fsm = None
    for size in range(length + 1):
        for letters in itertools.product(alphabet, repeat=size):
            text = "".join(letters)
            expected = parses(parser, text)
            if expected is not None:
                assert (fsm is not None and accepts(fsm, text)) == expected, (grammar, text)


GRAMMARS = {
    "names and keywords": ('start: N "b" N | "b"\nN: /[ab]+/\n%ignore " "', "ab "),
    "keywords glued to names": ('start: N N | N "a"\nN: /[ab]+/', "ab"),
    "numbers": ('start: (N | "." N)+\nN: /a+(\\.a+)?/', "a."),
    "lazy strings": ("start: S+\nS: /\".*?(?<!\\\\)(\\\\\\\\)*?\"/", 'a"\\'),
    "ignored prefixes": ('start: "a" T "b"\nT: "ABC"\n%ignore "A"\n%ignore " "', "aAb"),
    "blanks that end at once": ('start: "a" "b"\nW: /c+/\n%ignore W', "abc"),
    "ignored terminals after one another": ('start: "a"+\n%ignore /b+/\n%ignore /bc/', "abc"),
    "nothing is left of an alternative": ('start: /a|ab/ "c"', "abc"),
    "left recursion": ('start: e\ne: "a" | e "b" e', "ab"),
    "hidden left recursion": ('start: x\nx: y x "b" | "a"\ny: "a"?', "ab"),
    "a loop of nothing": ("start: a\na: b | \"a\"\nb: a | \"b\" |", "ab"),
    "templates": ('start: p{"a"} | p{"b"} "c"\np{x}: "b" x', "abc"),
    "ranges": ('start: ("a" | "b" "c")~2..3', "abc"),
    "letters of either case": ('start: "ab"i+', "abAB"),
    "common beginnings": ('start: v\nv: "a" [v ("b" v)*] "c"', "abc"),
}  # fmt: skip


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_chosen_grammars(name: str, lexer: str) -> None:
    grammar, alphabet = GRAMMARS[name]
    check(grammar, lexer, alphabet, 7 if len(alphabet) < 3 else 6 if len(alphabet) < 4 else 4)


TERMINALS = [
    '"a"', '"b"', '"ab"', "/a+/", "/[ab]+/", "/ab?/", "/a|ab/", "/a*?b/", "/a(?!b)/", "/b(?=a|$)/",
    "/(a|ab)(c|b)?/", '"c"', "/[bc]+/", "/a+b|a/", "/c(a|b)*?c/", '"A"i', "/b??c/", "/[^a]/",
    r"/a\b/", "/(?:aa)+/",
]  # fmt: skip
IGNORED = ['" "', "/ +/", "/c+/", '"b"', "/ |c[^ ]*/", "/[ab] /"]


@st.composite
def grammars(draw: st.DrawFn) -> str:
    terminals = draw(st.lists(st.sampled_from(TERMINALS), min_size=1, max_size=3))
    names = [f"T{i}" for i in range(len(terminals))]
    rules = ["start", *(f"r{i}" for i in range(draw(st.integers(0, 2))))]
    symbols = st.sampled_from([*names, *names, *rules[1:], *TERMINALS[:3]])
    marks = st.sampled_from(["", "", "", "", "", "*", "+", "?", "~1..2"])
    items = st.lists(st.tuples(symbols, marks).map("".join), max_size=3).map(" ".join)
    lines = [
        f"{rule}: {' | '.join(draw(st.lists(items, min_size=1, max_size=3)))}" for rule in rules
    ]
    lines += [f"{name}: {terminal}" for name, terminal in zip(names, terminals, strict=True)]
    lines += [f"%ignore {x}" for x in draw(st.lists(st.sampled_from(IGNORED), max_size=2))]
    return "\n".join(lines)


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@effort(60)
@given(grammars())
def test_generated_grammars(lexer: str, grammar: str) -> None:
    if lexer == "dynamic_complete":
        # Tighter on purpose, see maskwright.grammar.lark.
        assume(not any(look in grammar for look in ("(?!", "(?=", r"\b")))
    try:
        lark.Lark(grammar, parser="earley", lexer=lexer)
    except Exception:
        assume(False)
    check(grammar, lexer, "abc " if "%ignore" in grammar else "abc", 4)


JSON = r"""
?start: value
?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
"""


def test_nesting_is_no_ambiguity() -> None:
    """Alternatives that begin alike double their stacks with each level, unless joined."""
    matcher = COMPILER.lark(JSON).matcher()
    assert matcher.accept_all(list(b'[{"a":' * 200)) == 1200
    assert matcher.accept_all(list(b"1" + b"}]" * 200)) == 401
    assert matcher.is_accepting()


@pytest.mark.parametrize(
    ("grammar", "line", "column", "message"),
    [
        ('start: foo "x"', 1, 8, "'foo' used but not defined"),
        ('start: "a"\nb: FOO', 2, 4, "'FOO' used but not defined"),
        ('start: "a" (', 1, 13, "Unclosed parenthesis"),
        ('start: "a" ~ ', 1, 14, "expected one of NUMBER"),
        ("start: A\nA: B\nB: A", 1, 8, "Recursion in terminal"),
        ("start: A\nA: /a*/", 1, 8, "zero-width"),
        ("start: /(/", 1, 9, "missing )"),
        ("start: A\nA: /(a)\\1/", 1, 8, "backreference"),
        ("start: A\nA: /(?<=b)a/", 1, 8, "stands before it"),
        ("%declare X\nstart: X", 1, 10, "only declared"),
        ('other: "a"', None, None, "no rule 'start'"),
        ('%import nowhere.x\nstart: "a"', None, None, "nowhere"),
    ],
)
def test_errors_have_a_place(
    grammar: str, line: int | None, column: int | None, message: str
) -> None:
    with pytest.raises(mw.GrammarError) as caught:
        COMPILER.lark(grammar)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    if line is not None:
        assert caught.value.excerpt is not None
        assert caught.value.excerpt.split("\n")[0] == grammar.split("\n")[line - 1]


def test_nothing_matches() -> None:
    for grammar in ("start: start", 'start: /a+/ "a"'):
        with pytest.raises(mw.UnsatisfiableError, match="'start'"):
            COMPILER.lark(grammar)


def test_wrong_options() -> None:
    with pytest.raises(mw.GrammarError, match="dynamic_complete"):
        COMPILER.lark('start: "a"', lexer="standard")  # type: ignore[arg-type]


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text('WORD: /[a-z]+/\npair: WORD ":" WORD\n')
    grammar = "%import words.pair\nstart: pair"
    with pytest.raises(mw.GrammarError):
        COMPILER.lark(grammar)
    fsm = COMPILER.lark(grammar, import_paths=[str(tmp_path)])
    assert accepts(fsm, "a:b")
    fsm = COMPILER.lark("%import .words.pair\nstart: pair", source_path=str(tmp_path / "main.lark"))
    assert accepts(fsm, "a:b")
    assert not accepts(fsm, "a:")


def test_other_starts() -> None:
    fsm = COMPILER.lark('start: "a"\nother: "b"', "other")
    assert accepts(fsm, "b")
    assert not accepts(fsm, "a")
