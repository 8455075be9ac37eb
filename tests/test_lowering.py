"""Lowered automata against the codecs they imitate: ``str.encode`` and ``json.loads``."""

from __future__ import annotations

import json
import random

import pytest
from effort import effort
from hypothesis import assume, given
from hypothesis import strategies as st

from maskwright.errors import LimitError
from maskwright.fsm.lowering import END, ByteRows, lower_string, lower_text
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.regular import CharSet

LIMIT = 50_000
SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
# Characters around every boundary that UTF-8 and the escapes know.
EDGES = [
    0x00,
    0x08,
    0x09,
    0x0A,
    0x0C,
    0x0D,
    0x1F,
    0x20,
    0x21,
    0x22,
    0x2F,
    0x30,
    0x41,
    0x5B,
    0x5C,
    0x5D,
    0x61,
    0x7E,
    0x7F,
    0x80,
    0xBF,
    0xC0,
    0xFF,
    0x100,
    0x7FF,
    0x800,
    0xFFF,
    0x1000,
    0xCFFF,
    0xD000,
    0xD7FF,
    0xE000,
    0xFFFD,
    0xFFFF,
    0x10000,
    0x103FF,
    0x10400,
    0x13FFF,
    0x14000,
    0x1F600,
    0x3FFFF,
    0x40000,
    0x4FFFF,
    0x50000,
    0xFFFFF,
    0x100000,
    0x10FFFF,
]
characters = st.one_of(st.sampled_from(EDGES).map(chr), st.characters(exclude_categories=["Cs"]))
code_points = st.one_of(
    st.sampled_from(EDGES), st.integers(0, 0x10FFFF).filter(lambda c: not 0xD800 <= c < 0xE000)
)


@st.composite
def languages(draw: st.DrawFn) -> CharDFA:
    """Short texts, runs of sets with ragged borders, and combinations of them."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return CharDFA.from_strings(draw(st.lists(st.text(characters, max_size=3), min_size=1)))
    ends = draw(st.lists(code_points, min_size=2, max_size=8))
    pairs = zip(sorted(ends)[::2], sorted(ends)[1::2], strict=False)
    low = draw(st.integers(0, 2))
    run = CharDFA.from_charset_repeat(CharSet.of(pairs), low, draw(st.none() | st.integers(2, 3)))
    if kind == 1:
        return run
    other = draw(languages())
    return run.union(other) if kind == 2 else run.difference(other)


def members(language: CharDFA, rng: random.Random) -> list[str]:
    """A few texts of a language, by walks over its states that prefer borders of intervals."""
    cuts = [*language.cuts.tolist(), 0x110000]
    texts = []
    for _ in range(4):
        state, text = 1, ""
        while len(text) < 8:
            if language.accepting[state] and rng.random() < 0.4:
                break
            steps = [
                i
                for i, symbol in enumerate(language.interval_class)
                if language.trans[state, symbol]
            ]
            if not steps:
                break
            i = rng.choice(steps)
            text += chr(rng.choice((cuts[i], cuts[i + 1] - 1, rng.randrange(cuts[i], cuts[i + 1]))))
            state = int(language.trans[state, language.interval_class[i]])
        if language.accepting[state]:
            texts.append(text)
    return texts


def run(rows: ByteRows, data: bytes) -> int:
    state = rows.start
    for byte in data:
        state = int(rows.rows[state, rows.byte_classes[byte]])
        if state == 0:
            break
    return state


def is_text(rows: ByteRows, language: CharDFA, data: bytes) -> bool:
    """Whether a lowered text automaton accepts: it ends in an accepting character state."""
    number = run(rows, data) - rows.first_character
    return 0 <= number < rows.characters and bool(language.accepting[number + 1])


def spell(character: str, rng: random.Random, *, any_escape: bool = False) -> str:
    """Some JSON spelling of a character."""
    options = []
    if character not in '"\\' and character >= " ":
        options.append(character)
    if character in SHORT:
        options.append(SHORT[character])
    if any_escape or not " " <= character <= "~":
        units = character.encode("utf-16-be").hex()
        quads = [units[i : i + 4] for i in range(0, len(units), 4)]
        digits = ["".join(rng.choice((d.lower(), d.upper())) for d in quad) for quad in quads]
        options.append("".join("\\u" + quad for quad in digits))
    return rng.choice(options)


@effort(60)
@given(languages(), st.lists(st.text(characters, max_size=4), max_size=8), st.randoms())
def test_text_is_accepted_as_its_utf8_bytes(
    language: CharDFA, texts: list[str], rng: random.Random
) -> None:
    rows = lower_text(language, limit=LIMIT)
    for text in [*texts, *members(language, rng)]:
        assert is_text(rows, language, text.encode()) == language.accepts(text), text


@effort(60)
@given(languages(), st.binary(max_size=6))
def test_bytes_that_are_not_utf8_are_never_text(language: CharDFA, data: bytes) -> None:
    rows = lower_text(language, limit=LIMIT)
    try:
        expected = language.accepts(data.decode())
    except UnicodeDecodeError:
        expected = False
    assert is_text(rows, language, data) == expected


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "data",
    [
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"\x80",
    ],
)
def test_overlong_forms_surrogates_and_too_large_values_are_dead(data: bytes) -> None:
    any_text = CharDFA.any_text()
    assert run(lower_text(any_text, limit=LIMIT), data) == 0
    assert run(lower_string(any_text, any_escape=True, limit=LIMIT), b'"' + data) == 0


@effort(60)
@given(languages(), st.lists(st.text(characters, max_size=4), max_size=8), st.randoms())
def test_every_spelling_of_a_string_is_accepted_if_its_value_is(
    language: CharDFA, values: list[str], rng: random.Random
) -> None:
    rows = lower_string(language, any_escape=False, limit=LIMIT)
    for value in [*values, *members(language, rng)]:
        spelled = '"' + "".join(spell(c, rng) for c in value) + '"'
        assert json.loads(spelled, strict=True) == value
        assert (run(rows, spelled.encode()) == END) == language.accepts(value), spelled


@effort(60)
@given(languages(), st.text(characters, max_size=4))
def test_what_json_dumps_writes_is_accepted_if_the_value_is(language: CharDFA, value: str) -> None:
    rows = lower_string(language, any_escape=False, limit=LIMIT)
    for ensure_ascii in (False, True):
        # DEL is the one ASCII character that json.dumps leaves and that has an escape here.
        spelled = json.dumps(value, ensure_ascii=ensure_ascii)
        assert (run(rows, spelled.encode()) == END) == language.accepts(value), spelled


FRAGMENTS = st.sampled_from(
    [
        "\\",
        "u",
        '"',
        "/",
        "n",
        "x",
        "\\u",
        "\\ud83d",
        "\\uDE00",
        "\\uD800",
        "\\u00",
        "41",
        "e9",
        "00",
        "\\n",
        "\n",
        "\x7f",
        "\u00e9",
        "\U0001f600",
        "d8",
        "0",
        "a",
        "G",
        "b",
        "\\u0041",
        "\\u007F",
    ]
)


@given(st.lists(FRAGMENTS, max_size=7).map("".join))
def test_any_string_automaton_agrees_with_json_loads(content: str) -> None:
    spelled = f'"{content}"'
    try:
        value = json.loads(spelled)
        # Lone surrogates are no text, although json.loads takes them.
        expected = isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
    except json.JSONDecodeError:
        expected = False
    rows = lower_string(CharDFA.any_text(), any_escape=True, limit=LIMIT)
    assert (run(rows, spelled.encode()) == END) == expected


@pytest.mark.jit_off
@pytest.mark.parametrize("character", [" ", "A", "~"])
def test_printable_ascii_has_a_hex_escape_only_where_asked(character: str) -> None:
    any_text = CharDFA.any_text()
    spelled = f'"\\u00{ord(character):02x}"'.encode()
    assert run(lower_string(any_text, any_escape=True, limit=LIMIT), spelled) == END
    assert run(lower_string(any_text, any_escape=False, limit=LIMIT), spelled) == 0


@effort(60)
@given(languages(), st.text(characters, max_size=3), st.randoms())
def test_hex_escapes_of_any_language_where_asked(
    language: CharDFA, value: str, rng: random.Random
) -> None:
    rows = lower_string(language, any_escape=True, limit=LIMIT)
    for candidate in (value, *members(language, rng)):
        spelled = '"' + "".join(spell(c, rng, any_escape=True) for c in candidate) + '"'
        assert (run(rows, spelled.encode()) == END) == language.accepts(candidate), spelled


@effort(60)
@given(languages())
def test_every_state_is_live(language: CharDFA) -> None:
    # No state is entered that cannot lead on: a mask must never promise a dead end. Front ends
    # never hand out a lexeme without a text.
    assume(not language.is_empty)
    for rows in (
        lower_text(language, limit=LIMIT), lower_string(language, any_escape=False, limit=LIMIT)
    ):  # fmt: skip
        accepting = {END} | {
            rows.first_character + q - 1
            for q in range(1, len(language.trans))
            if language.accepting[q]
        }
        live = set(accepting)
        targets = [set(row) - {0} for row in rows.rows.tolist()]
        while True:
            more = {state for state in range(2, len(targets)) if targets[state] & live} - live
            if not more:
                break
            live |= more
        entered = {target for row in targets for target in row}
        assert entered <= live


@effort(60)
@given(languages(), st.booleans())
def test_states_inside_characters_are_shared(language: CharDFA, any_escape: bool) -> None:
    for rows in (
        lower_text(language, limit=LIMIT),
        lower_string(language, any_escape=any_escape, limit=LIMIT),
    ):
        inside = rows.rows[rows.first_character + rows.characters :].tolist()
        assert len(set(map(tuple, inside))) == len(inside)
        # Every one of them is entered, and no byte class is superfluous.
        assert set(rows.rows.ravel().tolist()) >= set(
            range(len(rows.rows) - len(inside), len(rows.rows))
        )
        columns = rows.rows[2:].T.tolist()
        assert len(set(map(tuple, columns))) == len(columns)


def test_many_states_with_scattered_classes_are_lowered_in_time() -> None:
    # One state a length and number of words, each with spaces all over Unicode to tell apart.
    spaces = CharSet.of([(9, 13), (32, 32), (0xA0, 0xA0), (0x2000, 0x200A), (0x3000, 0x3000)])
    space = CharDFA.from_charset_repeat(spaces, 1, None)
    word = CharDFA.from_charset_repeat(spaces.complement(), 1, None)
    language = word
    for _ in range(9):
        language = word.union(word.concat(space).concat(language))
    language = language.bounded(0, 100)
    rows = lower_string(language, any_escape=False, limit=LIMIT)
    assert rows.characters > 1_000
    for text, expected in (("a b" * 9, True), ("a b" * 10, False), ("a" * 101, False)):
        assert language.accepts(text) == expected
        assert (run(rows, json.dumps(text).encode()) == END) == expected


def test_too_many_states_are_a_limit_error() -> None:
    scattered = CharSet.of((c, c) for c in range(0x800, 0xD000, 67))
    language = CharDFA.from_charset_repeat(scattered, 0, None)
    with pytest.raises(LimitError) as caught:
        lower_string(language, any_escape=False, limit=50)
    assert caught.value.limit == "byte_states"
