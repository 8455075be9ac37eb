"""Formats against the official suite, independent validators, and Python's own types."""

from __future__ import annotations

import datetime
import ipaddress
import json
import uuid
from pathlib import Path
from random import Random

import pytest
from effort import effort
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.json_schema.formats import FORMATS, format_language

jsonschema_rs = pytest.importorskip("jsonschema_rs")

ANNOTATIONS = ("idn-hostname", "regex", "ecmascript-regex", "unknown", "URI", "")
# Validators check non-ASCII labels against IDNA, and this one mistakes "\\ " in a quoted local
# part (a quoted backslash and then a space).
INEXACT_ORACLE = {"email", "idn-email"}
EDITS = "0129afzAZ-_.~:/?#[]@!$&'()*+,;=%\"\\ {}<>^`|éTZtz+PYMDHSW六\n"


def language(name: str, *, leap_seconds: bool = True) -> CharDFA:
    result = format_language(name, leap_seconds=leap_seconds)
    assert result is not None
    return result


def random_member(dfa: CharDFA, random: Random) -> str:
    """A random walk from the start that prefers to stop soon."""
    cuts = [*dfa.cuts.tolist(), 0x110000]
    state, letters = 1, []
    while True:
        row = dfa.trans[state].tolist()
        steps = [i for i, c in enumerate(dfa.interval_class.tolist()) if row[c]]
        if dfa.accepting[state] and (not steps or len(letters) > 60 or random.random() < 0.15):
            return "".join(letters)
        i = random.choice(steps)
        letters.append(chr(random.randint(cuts[i], min(cuts[i + 1] - 1, cuts[i] + 300))))
        state = row[dfa.interval_class[i]]


def edited(text: str, random: Random) -> str:
    """The text after one or two insertions, deletions or replacements."""
    letters = list(text)
    for _ in range(random.randint(1, 2)):
        at = random.randint(0, len(letters))
        letters[at : at + random.randint(0, 1)] = random.choice([[], [random.choice(EDITS)]])
    return "".join(letters)


@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_official_suite(data_dir: Path, draft: str, name: str) -> None:
    folder = data_dir / "json-schema-test-suite" / "tests" / draft / "optional" / "format"
    path = folder / f"{name}.json"
    if not path.exists():
        assert (draft, name) in {("draft7", "duration"), ("draft7", "uuid")}
        return
    tests = [test for group in json.loads(path.read_text()) for test in group["tests"]]
    texts = [test for test in tests if isinstance(test["data"], str)]
    wrong = [
        test["data"] for test in texts if language(name).accepts(test["data"]) != test["valid"]
    ]
    if name == "hostname":  # A-labels are never accepted, see the module's docstring
        assert all(text.startswith("xn--") for text in wrong)
        assert not any(language(name).accepts(text) for text in wrong)
    else:
        assert wrong == []
    assert len(texts) >= 5


@pytest.mark.parametrize("name", sorted(set(FORMATS) - INEXACT_ORACLE))
@given(seed=st.integers(0, 2**32))
@effort(30)
def test_members_and_near_misses_are_judged_as_by_an_independent_validator(
    name: str, seed: int
) -> None:
    random = Random(seed)
    validator = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    dfa = language(name)
    for _ in range(10):
        member = random_member(dfa, random)
        assert dfa.accepts(member)
        assert validator.is_valid(member), member
        near = edited(member, random)
        assert validator.is_valid(near) == dfa.accepts(near), near


@given(seed=st.integers(0, 2**32))
def test_no_plain_email_is_accepted_that_a_validator_refuses(seed: int) -> None:
    validator = jsonschema_rs.Draft202012Validator({"format": "email"}, validate_formats=True)
    random = Random(seed)
    for _ in range(5):
        member = random_member(language("email"), random)
        assert validator.is_valid(member) or "\\" in member, member


@pytest.mark.parametrize(
    ("name", "python_type"),
    [
        ("date", datetime.date),
        ("date-time", datetime.datetime),
        ("time", datetime.time),
        ("uuid", uuid.UUID),
        ("ipv4", ipaddress.IPv4Address),
        ("ipv6", ipaddress.IPv6Address),
    ],
)
@given(seed=st.integers(0, 2**32))
def test_python_types_take_every_member(name: str, python_type: type, seed: int) -> None:
    member = random_member(language(name, leap_seconds=False), Random(seed))
    value = TypeAdapter(python_type).validate_json(json.dumps(member))
    assert isinstance(value, python_type)


@given(st.datetimes(timezones=st.just(datetime.UTC)))
def test_what_python_writes_is_a_member(value: datetime.datetime) -> None:
    assert language("date-time").accepts(value.isoformat())
    assert language("date").accepts(value.date().isoformat())
    assert language("time").accepts(value.timetz().isoformat())


def test_dates_are_exactly_those_of_the_calendar() -> None:
    dates = language("date")
    for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9996):
        for month in range(14):
            for day in range(33):
                try:
                    datetime.date(year, month, day)
                    real = True
                except ValueError:
                    real = False
                assert dates.accepts(f"{year:04}-{month:02}-{day:02}") == real
    assert not dates.accepts("0000-01-01")


@pytest.mark.parametrize("name", ["date-time", "time"])
def test_leap_seconds_can_be_left_out(name: str) -> None:
    prefix = "2016-12-31T" if name == "date-time" else ""
    for second, plain in (("60", False), ("59", True)):
        text = f"{prefix}23:59:{second}Z"
        assert language(name).accepts(text)
        assert language(name, leap_seconds=False).accepts(text) == plain


@given(st.lists(st.integers(1, 70) | st.integers(1, 12), min_size=1, max_size=12))
def test_names_stay_within_the_lengths_of_their_protocol(lengths: list[int]) -> None:
    host = ".".join("a" * n for n in lengths)
    rest = len(host) - lengths[0] - 1
    assert language("hostname").accepts(host) == (lengths[0] <= 63 and rest <= 63)
    assert language("email").accepts(f"x@{host}") == (len(host) <= 63)
    assert language("email").accepts(f"{host}@x") == (len(host) <= 64)


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_names_that_cannot_be_enforced_are_annotations(name: str) -> None:
    assert format_language(name) is None


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_automata_stay_small(name: str) -> None:
    assert len(language(name).accepting) < 2_000


@pytest.mark.parametrize("name", ["email", "idn-email", "hostname"])
@pytest.mark.parametrize("longest", [20, 50, 63, 64, 80, 100, 120])
def test_addresses_can_be_combined_with_any_length(name: str, longest: int) -> None:
    whole = language(name)
    assert whole.bounded(0, 128) == whole
    assert whole.bounded(0, longest).max_length == longest
