"""The GBNF front end: what its notation means, where its errors point, and its languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_reference import matches

from maskwright.errors import GrammarError, LimitError, UnsatisfiableError
from maskwright.fsm.compiler import Compiler
from maskwright.fsm.token_fsm import DEAD, TokenFSM
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar.gbnf import gbnf_grammar
from maskwright.grammar.gbnf.lexical import MAX_LEXEME
from maskwright.grammar.ir import Literal, Repeat, TextLexeme
from maskwright.limits import Limits

VOCABULARY = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b""], eos_ids=[256])
COMPILER = Compiler(VOCABULARY)


def accepts(fsm: TokenFSM, text: str) -> bool:
    node = fsm.start
    for byte in text.encode():
        node = fsm.step(node, byte)
        if node == DEAD:
            return False
    return fsm.is_accepting(node)


# ---------------------------------------------------------------------- the notation

# name: grammar, texts in it, texts that are not
NOTATION: dict[str, tuple[str, list[str], list[str]]] = {
    "a string": ('root ::= "ab"', ["ab"], ["", "a", "abb"]),
    "no rule ends in the middle of the text": ('root::="a"#x\r\n', ["a"], ["", "a#x"]),
    "escapes of strings": (
        r'root ::= "\n\r\t\\\"\[\]\-\x41\u00e9\U0001f600"',
        ['\n\r\t\\"[]-Aé😀'],
        ["n"],
    ),
    "a hexadecimal escape has two digits": (r'root ::= "\x41B"', ["AB"], ["\u041b"]),
    "escapes are code points": (r'root ::= "\xe9" [\x80-\xff]', ["é\x80", "éÿ"], ["ée"]),
    "C's other escapes": (r"""root ::= "\a\b\f\v\0\e\'\?" """, ["\a\b\f\v\0\x1b'?"], [""]),
    "a string over a line's end": ('root ::= "a\nb"', ["a\nb"], ["ab"]),
    "characters beyond ASCII": ('root ::= "日" [ぁ-ゟ]+', ["日ひら"], ["日", "日a"]),
    "a class": ("root ::= [a-cx_]", ["a", "b", "c", "x", "_"], ["", "d", "-", "ab"]),
    "a negated class": ("root ::= [^a-c\\n]", ["d", "é", "😀", "\r"], ["a", "\n", "", "dd"]),
    "a hyphen at an end of a class": ("root ::= [-a] [a-] [^-]", ["-ab", "a-c"], ["---", "bab"]),
    "an escaped hyphen": (r"root ::= [a\-c]", ["a", "-", "c"], ["b"]),
    "a range of hyphens": ("root ::= [+--]", ["+", ",", "-"], ["."]),
    "escapes in classes": (r'root ::= [\]\[\\"\^\$\.\n]', list(']["\\^$.\n'), ["n", "a"]),
    "a caret that is not first": ("root ::= [a^]", ["a", "^"], ["b"]),
    "a class that mentions surrogates": (r"root ::= [^\ud800-\udfff]", ["a", "😀"], ["", "ab"]),
    "any character": ("root ::= . .", ["ab", "\n\n", "é😀"], ["a", "abc"]),
    "a dot ends a name": ('root ::= a.a\na ::= "a"', ["axa", "a.a"], ["aa"]),
    "alternatives": ('root ::= "a" | "b" "c" | [0-9]', ["a", "bc", "7"], ["b", "ac", "c"]),
    "an empty alternative": ('root ::= | "a"', ["", "a"], ["aa"]),
    "a last empty alternative": ('root ::= "a" |', ["", "a"], ["aa"]),
    "an empty body": ("root ::=", [""], ["a"]),
    "an empty group": ('root ::= "a" () ( ) "b"', ["ab"], ["a"]),
    "groups": ('root ::= ("a" | "b") ("c" | ("d"))', ["ac", "bd"], ["ab", "cd"]),
    "star": ('root ::= "ab"*', ["", "ab", "abab"], ["a", "abb"]),
    "plus": ('root ::= "a"+', ["a", "aaa"], [""]),
    "question mark": ('root ::= "a"? "b"', ["b", "ab"], ["aab"]),
    "quantifiers after blanks": ('root ::= "a" * "b" # x\n', ["b", "aab"], ["ba"]),
    "a quantifier after another": ('root ::= ("a" "b"{2})+? "c"', ["c", "abbabbc"], ["abc"]),
    "exact counts": ("root ::= [ab]{3}", ["aba"], ["ab", "abab"]),
    "open counts": ("root ::= [ab]{2,}", ["ab", "ababab"], ["a"]),
    "counts": ("root ::= [ab]{1,3}", ["a", "aba"], ["", "abab"]),
    "counts from zero": ("root ::= [ab]{0,2}", ["", "ab"], ["aba"]),
    "a count of zero": ('root ::= "a"{0} "b" "c"{0,0}', ["b"], ["ab", "bc"]),
    "blanks in counts": ('root ::= "a"{ 1 , 2 } ("b"{\n3\n})', ["abbb", "aabbb"], ["abb"]),
    "an open count as XGrammar prints it": ('root ::= "a"{2,-1}', ["aa", "aaaaa"], ["a"]),
    "comments and empty lines": (
        '# first\n\n  # second\nroot ::= a # "x"\n\n# third\na ::= "a" # | "b"\n#',
        ["a"],
        ["ax", "b"],
    ),
    "lines that end inside": (
        'root ::=\n  # comment\n  "a" |\n  "b" (\n "c"\n | # x\n "d"\n)\n',
        ["a", "bc", "bd"],
        ["b", "c"],
    ),
    "a line that begins with a bar": ('root ::= "a"\n  | "b"\n  | c\nc ::= "c"', ["b", "c"], ["d"]),
    "a line that goes on": ('root ::= "a"\n  b\nb ::= "b"', ["ab"], ["a"]),
    "lines of other systems": ('root ::= a\r\na ::= "a"\rb ::= "b"', ["a"], ["b"]),
    "names": (
        'root ::= a-b A_b 1\na-b ::= "1"\nA_b ::= "2"\n1 ::= "3"',
        ["123"],
        ["a-b"],
    ),
    "rules in any order": ('b ::= "b"\nroot ::= a b\na ::= "a"', ["ab"], ["b", "a"]),
    "left recursion": ('root ::= root "a" | "b"', ["b", "baa"], ["a", "ab", ""]),
    "right recursion": ('root ::= "a" root | "b"', ["b", "aab"], ["a", "ba", ""]),
    "both": ('root ::= "a" root | root "c" | "b"', ["abcc", "aab", "b"], ["ac", "cb", "ba"]),
    "middle recursion": ('root ::= "(" root ")" | ""', ["", "(())"], ["(", "())"]),
    "hidden left recursion": ('root ::= ws root "a" | "b"\nws ::= " "*', ["b", "  baa"], ["a"]),
    "mutual left recursion": ('root ::= x "a" | "b"\nx ::= root "c"', ["b", "bca"], ["bc", "ca"]),
    "a rule that is itself": ('root ::= root | "a" | (root)', ["a"], ["", "aa"]),
    "a nullable loop": ('root ::= (a*)*\na ::= "x" | root', ["", "xxx"], ["y"]),
    "a recursive rule of blanks": ('root ::= ws "a"\nws ::= ([ \\t] ws)?', ["a", " \ta"], ["a "]),
    "ambiguous sums": ('root ::= root "+" root | "1"', ["1", "1+1+1"], ["+", "1+", ""]),
    "an alternative that never ends": ('root ::= "a" | x\nx ::= "b" x', ["a"], ["b", "ba"]),
    "rules that nobody calls": ('root ::= "a"\nx ::= "b" x\ny ::= root', ["a"], ["b"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "good", "bad"), NOTATION.values(), ids=NOTATION)
def test_notation(text: str, good: list[str], bad: list[str]) -> None:
    grammar = gbnf_grammar(text)
    fsm = COMPILER.gbnf(text)
    for sample in (*good, *bad):
        assert (sample, accepts(fsm, sample)) == (sample, sample in good)
        assert matches(grammar, sample.encode()) == (sample in good)


def test_another_root() -> None:
    fsm = COMPILER.gbnf('root ::= "a"\nother ::= "b" root', root="other")
    assert accepts(fsm, "ba")
    assert not accepts(fsm, "a")


# ---------------------------------------------------------------------- errors

# grammar, line, column, pattern of the message
ERRORS: list[tuple[str, int, int, str]] = [
    ('root ::= "a"\n%', 2, 1, "unexpected '%': expected a string"),
    ("\n  %", 2, 3, "expected a rule"),
    ("root", 1, 5, "expected '::=' after the rule name 'root'"),
    ('root = "a"', 1, 6, "expected '::='"),
    ('root ::= "a"\nb = "b"', 2, 3, "expected '::='"),
    ("root ::= 'a'", 1, 10, "double quotes"),
    ("root ::= a", 1, 10, "there is no rule 'a'"),
    ('root ::= "x" (name | nmae)\nname ::= "n"', 1, 22, "'nmae'; did you mean 'name'"),
    ('root ::= "a"\r\nroot ::= "b"', 2, 1, "'root' was already defined in line 1"),
    ('root ::= "a" b ::= "b"', 1, 14, "'b' must begin on a line of its own"),
    ('root ::=\nb ::= "b"', 2, 1, "expected what 'root' matches"),
    ('root ::= "a" |\nb ::= "b"', 2, 1, "expected what 'root' matches"),
    ('root ::= "x" ("a"\nb ::= "b"', 1, 14, r"'\(' is not closed before the rule 'b'"),
    ('root ::= ("a" ("b")', 1, 10, r"'\(' is never closed"),
    ('root ::= "a")', 1, 13, "closes no group"),
    ('root ::= "a', 1, 10, "string is never closed"),
    ('root ::= "a\\', 1, 12, "no escape sequence"),
    ("root ::= [a", 1, 10, r"'\[' is never closed"),
    ("root ::= [a-", 1, 10, r"'\[' is never closed"),
    ("root ::= []", 1, 10, "class is empty"),
    ("root ::= [^]", 1, 10, "class is empty: write '.'"),
    ("root ::= [x-a]", 1, 11, "'x-a' has its ends the wrong way round"),
    (r"root ::= [^\x00-\U0010ffff]", 1, 10, "no character is in this class"),
    (r"root ::= [\ud800]", 1, 10, "no character is in this class"),
    (r'root ::= "ab\d"', 1, 13, r"'\\d' is no escape sequence in a string: .*\[0-9\]"),
    (r"root ::= [\w]", 1, 11, r"'\\w' is no escape sequence in a class"),
    (r'root ::= "\."', 1, 11, "no escape sequence in a string"),
    (r'root ::= "\x4"', 1, 11, "expected 2 hexadecimal digits"),
    (r'root ::= "\u12g4"', 1, 11, "expected 4 hexadecimal digits"),
    (r'root ::= "\U00110000"', 1, 11, "no character 110000"),
    (r'root ::= "\ud83d\ude00"', 1, 11, "half of a surrogate pair"),
    ('root ::= "a\ud800"', 1, 12, "half of a surrogate pair"),
    ("root ::= *", 1, 10, r"nothing before '\*'"),
    ('root ::= "a" | +', 1, 16, r"nothing before '\+'"),
    ('root ::= "a" ({2})', 1, 15, r"nothing before '\{2\}'"),
    ('root ::= "a"{,2}', 1, 14, r"expected a number, as in \{2\} or \{0,5\}"),
    ('root ::= "a"{x}', 1, 14, "expected a number"),
    ('root ::= "a"{1;2}', 1, 15, "expected ',' or '}'"),
    ('root ::= "a"{1,x}', 1, 16, "expected a number or '}'"),
    ('root ::= "a"{3,2}', 1, 13, r"wrong way round: write \{2,3\}"),
    ('root ::= "a"{9999999999999}', 1, 14, "at most 1000000000"),
    ("root ::= <think>", 1, 10, "not supported"),
    ('root ::= "a" <[12]>', 1, 14, "not supported"),
    ("root ::= !<think>", 1, 10, "not supported"),
    ('root ::= "a" (= "b")', 1, 14, "lookahead"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
def test_errors_say_where(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        gbnf_grammar(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert error.excerpt is not None
    shown, mark = error.excerpt.split("\n")
    source = text.replace("\r\n", "\n").split("\n")[line - 1]
    assert shown == f"  {line} | {source}"
    assert mark.index("^") == shown.index("|") + 1 + column
    assert str(error).endswith(f" (line {line}, column {column})\n{error.excerpt}")


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(GrammarError) as caught:
        gbnf_grammar(f'root ::= "{"x" * 200}" % "{"y" * 200}"')
    assert caught.value.column == 213
    assert caught.value.excerpt is not None
    shown, mark = caught.value.excerpt.split("\n")
    assert shown[mark.index("^")] == "%"
    assert len(shown) < 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rule 'root' to start with: the text has no rules"),
        ('Root ::= "a"', "no rule 'root' to start with; did you mean 'Root'"),
        ('a ::= "a"', "no rule 'root' to start with; write 'root ::= …'"),
    ],
)
def test_the_root_must_be_there(text: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        gbnf_grammar(text)


def test_a_grammar_is_a_string() -> None:
    with pytest.raises(GrammarError, match="must be a string, not dict"):
        gbnf_grammar({})  # type: ignore[arg-type]


def test_a_root_without_texts_is_unsatisfiable() -> None:
    with pytest.raises(UnsatisfiableError, match=r"'root' matches no text.*'root', 'b'"):
        COMPILER.gbnf('root ::= "a" b\nb ::= "b" b | b "c"')


# ---------------------------------------------------------------------- lexemes


def test_a_regular_grammar_is_one_lexeme() -> None:
    text = 'root ::= ws (word ws)*\nword ::= [a-z]+ | "\\"" [^"]* "\\""\nws ::= ([ \\t] ws)?'
    assert isinstance(gbnf_grammar(text).rule("root"), TextLexeme)


def test_a_text_is_a_literal() -> None:
    text = 'root ::= "a" b "c" [d]\nb ::= "é"'
    assert gbnf_grammar(text).rule("root") == Literal("aécd".encode())


def test_an_automaton_that_explodes_is_taken_apart() -> None:
    fsm = COMPILER.gbnf('root ::= [ab]* "a" [ab]{40}')
    assert accepts(fsm, "b" * 9 + "a" + "b" * 40)
    assert not accepts(fsm, "b" * 9 + "a" + "b" * 41)


def test_a_long_repeat_is_counted() -> None:
    grammar = gbnf_grammar("root ::= [ab]{0,1000000}")
    assert isinstance(grammar.rule("root"), Repeat)
    fsm = COMPILER.gbnf("root ::= ([ab] [ab]?){2,1000000}")
    assert accepts(fsm, "abababa")
    assert not accepts(fsm, "a")


def test_a_long_list_of_texts_is_one_lexeme() -> None:
    words = [f"word{i:05}" for i in range(3 * MAX_LEXEME)]
    listed = " | ".join(f'"{word}"' for word in words)
    assert isinstance(gbnf_grammar(f"root ::= {listed}").rule("root"), TextLexeme)
    fsm = COMPILER.gbnf(f"root ::= [0-9]{{3}} | {listed} | [A-Z]{{2,}}")
    assert all(accepts(fsm, word) for word in (*words[::97], "123", "AB"))
    assert not accepts(fsm, "word99999")


def test_a_long_series_is_taken_apart() -> None:
    text = " ".join(f"[{c}{c.upper()}]" for c in "abcdefgh" * 2000)
    fsm = COMPILER.gbnf(f"root ::= {text}")
    assert accepts(fsm, "aBcdefGh" * 2000)
    assert not accepts(fsm, "aBcdefGh" * 1999)


def test_a_limit_of_the_user_is_kept() -> None:
    with pytest.raises(LimitError, match="byte_states"):
        Compiler(VOCABULARY, limits=Limits(byte_states=3)).gbnf('root ::= "abc" | [^a] "bcde"')


# ---------------------------------------------------------------------- size

NESTED = 5_000


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * NESTED + '"a"' + ")" * NESTED,
        "root ::= " + '("a" ' * NESTED + ")?" * NESTED,
        "root ::= " + "(x " * NESTED + ")?" * NESTED + '\nx ::= "a" | "(" x ")"',
        'root ::= "a"' + "?" * NESTED,
        'root ::= x{1,2}' + "?" * NESTED + '\nx ::= "a" | "(" x ")"',
    ],
    ids=["groups", "optional tails", "optional tails of calls", "quantifiers", "of calls"],
)  # fmt: skip
def test_nesting_has_no_limit(text: str) -> None:
    fsm = COMPILER.gbnf(text)
    assert accepts(fsm, "a")
    assert not accepts(fsm, "b")


def test_a_chain_of_many_rules() -> None:
    count = 5_000
    rules = [f'r{i} ::= "{"abc"[i % 3]}" (r{i + 1} | "")' for i in range(count)]
    text = "root ::= r0 | r1 | r2\n" + "\n".join(rules) + f'\nr{count} ::= "z"\n'
    fsm = COMPILER.gbnf(text)
    assert accepts(fsm, "bcabcabca")
    assert accepts(fsm, ("abc" * count)[:count] + "z")
    assert not accepts(fsm, "bcb")


# ---------------------------------------------------------------------- random grammars

Language = frozenset[str]
ALPHABET = "ab"
LENGTH = 4


@dataclass(frozen=True)
class Node:
    """A random expression: its text, and its texts given those of the rules."""

    kind: str
    parts: tuple[Node, ...] = ()
    word: str = ""
    low: int = 0
    high: int | None = None

    def written(self) -> str:
        if self.kind == "word":
            return f'"{self.word}"'
        if self.kind in ("class", "call"):
            return self.word
        if self.kind == "series":
            return " ".join(part.written() for part in self.parts)
        if self.kind == "choice":
            return "(" + " | ".join(part.written() for part in self.parts) + ")"
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((self.low, self.high))
        high = "" if self.high is None else str(self.high)
        return f"({self.parts[0].written()})" + (short or f"{{{self.low},{high}}}")

    def texts(self, known: Mapping[str, Language]) -> Language:
        if self.kind == "word":
            return frozenset([self.word])
        if self.kind == "class":
            members = {"[a]": "a", "[^b]": "a", "[ab]": "ab", ".": "ab"}[self.word]
            return frozenset(members)
        if self.kind == "call":
            return known[self.word]
        found = [part.texts(known) for part in self.parts]
        if self.kind == "series":
            return reduce(joined, found, frozenset([""]))
        if self.kind == "choice":
            return frozenset().union(*found)
        result: set[str] = set()
        now: Language = frozenset([""])
        for count in range(LENGTH + self.low + 2 if self.high is None else self.high + 1):
            if count >= self.low:
                result |= now
            now = joined(now, found[0])
        return frozenset(result)


def joined(first: Language, second: Language) -> Language:
    return frozenset(a + b for a in first for b in second if len(a) + len(b) <= LENGTH)


def language(rules: Mapping[str, Node]) -> Language:
    """Texts of the root up to a length: the least fixpoint."""
    known: dict[str, Language] = {name: frozenset() for name in rules}
    while True:
        after = {name: body.texts(known) for name, body in rules.items()}
        if after == known:
            return known["root"]
        known = after


def accepted(fsm: TokenFSM) -> Language:
    found: set[str] = set()
    pending = [("", fsm.start)]
    while pending:
        text, node = pending.pop()
        if fsm.is_accepting(node):
            found.add(text)
        if len(text) < LENGTH:
            steps = ((text + c, fsm.step(node, ord(c))) for c in ALPHABET)
            pending += [step for step in steps if step[1] != DEAD]
    return frozenset(found)


NAMES = ("root", "x", "y-1", "z")


def nodes() -> st.SearchStrategy[Node]:
    leaves = st.one_of(
        st.sampled_from([Node("word", word=word) for word in ("", "a", "b", "ab")]),
        st.sampled_from([Node("class", word=word) for word in ("[a]", "[^b]", "[ab]", ".")]),
        st.sampled_from([Node("call", word=name) for name in NAMES]),
    )

    def inner(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        several = st.lists(children, min_size=1, max_size=3).map(tuple)
        bounds = st.tuples(st.integers(0, 2), st.none() | st.integers(0, 2))
        return st.one_of(
            st.builds(lambda parts: Node("series", parts), several),
            st.builds(lambda parts: Node("choice", parts), several),
            st.builds(
                lambda part, bounds: Node(
                    "repeat", (part,), low=bounds[0],
                    high=None if bounds[1] is None else sum(bounds),
                ),
                children, bounds,
            ),
        )  # fmt: skip

    return st.recursive(leaves, inner, max_leaves=7)


@given(st.fixed_dictionaries({name: nodes() for name in NAMES}))
def test_random_grammars(rules: dict[str, Node]) -> None:
    text = "\n".join(f"{name} ::= {body.written()}" for name, body in rules.items())
    expected = language(rules)
    try:
        fsm = COMPILER.gbnf(text)
        found = accepted(fsm)
    except UnsatisfiableError:
        found = frozenset()
    except LimitError as error:
        # Rules that call themselves everywhere have exponentially many parses.
        assert error.limit == "threads"  # noqa: PT017
        return
    assert found == expected


# ---------------------------------------------------------------------- shared cases


def test_the_shared_cases(data_dir: Path) -> None:
    lines = (data_dir / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    cases = [case for line in lines if (case := json.loads(line))["kind"] == "gbnf"]
    assert cases
    for case in cases:
        if case["expect"] == "clear_error":
            with pytest.raises(GrammarError, match="line 1, column"):
                COMPILER.gbnf(case["gbnf"])
            continue
        fsm = COMPILER.gbnf(case["gbnf"])
        wrong = [text for text in case["accept"] if not accepts(fsm, text)]
        wrong += [text for text in case["reject"] if accepts(fsm, text)]
        assert (case["id"], wrong) == (case["id"], [])
