"""Number sets: exact arithmetic, one normal form, and the automata of their spellings.

The oracle is the definition: a text belongs iff it is a JSON number within the digit bounds
whose exact value is a member.
"""

from __future__ import annotations

import itertools
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from maskwright.errors import GrammarError, LimitError
from maskwright.grammar.json_schema import JsonSchemaGrammar
from maskwright.grammar.json_schema.languages import Languages
from maskwright.grammar.json_schema.numbers import DigitBounds, NumberSet, exact
from maskwright.grammar.json_schema.scalars import NumberPart
from maskwright.limits import DEFAULT_LIMITS, Limits

SPELLING = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE][+-]?([0-9]+))?")
SMALL = DigitBounds(integer=3, fraction=2, exponent=0)

decimals = st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places),
    st.integers(-12_000, 12_000),
    st.integers(0, 4),
)
number_sets = st.builds(
    NumberSet.of,
    integer=st.booleans(),
    minimum=st.none() | decimals,
    exclusive_minimum=st.none() | decimals,
    maximum=st.none() | decimals,
    exclusive_maximum=st.none() | decimals,
    multiple_of=st.sampled_from(
        [(), (), Decimal("0.01"), Decimal("2.5"), 3, 10, Decimal("0.4"), 20, (4, 6), 250]
    ),
)


def is_spelling(numbers: NumberSet, text: str) -> bool:
    """Without exponents: those have tests of their own."""
    return (
        SPELLING.fullmatch(text) is not None
        and "e" not in text.lower()
        and Fraction(text) in numbers
    )


@given(number_sets, st.data())
def test_a_spelling_is_accepted_iff_its_exact_value_is_a_member(
    numbers: NumberSet, data: st.DataObject
) -> None:
    near = [b for b in (numbers.minimum, numbers.maximum, numbers.step) if b is not None]
    base = data.draw(st.sampled_from([Fraction(0), *near]))
    offset = data.draw(decimals | st.sampled_from([Decimal(0), Decimal("1e-4"), Decimal("-1e-5")]))
    with localcontext(prec=60):
        value = Decimal(base.numerator) / Decimal(base.denominator) + offset
    text = f"{value:f}"
    if data.draw(st.booleans()):
        text += ("" if "." in text else ".") + "0" * data.draw(st.integers(1, 3))
    language = numbers.language(digits=DigitBounds(exponent=0))
    assert language.accepts(text) == is_spelling(numbers, text)


@given(number_sets)
def test_the_language_is_empty_iff_the_set_is(numbers: NumberSet) -> None:
    language = numbers.language(digits=SMALL)
    shortest = language.shortest()
    assert language.is_empty == numbers.is_empty()
    assert shortest is None or Fraction(shortest) in numbers


@pytest.mark.parametrize(
    "numbers",
    [
        NumberSet(),
        NumberSet.of(integer=True),
        NumberSet.of(minimum=0, maximum=10),
        NumberSet.of(exclusive_minimum=0, exclusive_maximum=1),
        NumberSet.of(minimum=Decimal("-1.5"), exclusive_maximum=Decimal("10.05")),
        NumberSet.of(integer=True, minimum=-10, maximum=9),
        NumberSet.of(multiple_of=Decimal("0.5")),
        NumberSet.of(multiple_of=3, minimum=-7),
        NumberSet.of(maximum=-1),
        NumberSet.of(multiple_of=Decimal("1.2"), minimum=1),
    ],
    ids=str,
)
def test_every_short_text_over_the_alphabet_of_numbers_is_judged_by_its_value(
    numbers: NumberSet,
) -> None:
    language = numbers.language(digits=DigitBounds(integer=5, fraction=4, exponent=0))
    for length in range(6):
        for symbols in itertools.product("-.0159", repeat=length):
            text = "".join(symbols)
            assert language.accepts(text) == is_spelling(numbers, text), text


@pytest.mark.parametrize(
    ("numbers", "accepted", "rejected"),
    [
        (NumberSet.of(maximum=5), ["5", "5.0", "4.999", "-6", "-0"], ["5.01", "6", "10"]),
        (NumberSet.of(exclusive_minimum=0), ["0.001", "10", "1e-3"], ["0", "-0", "0.0", "0e5"]),
        (NumberSet.of(minimum=0), ["0", "-0", "-0.0", "0e5", "1.5E+7"], ["-1", "-0.1", "-1e-3"]),
        (NumberSet.of(minimum=-5), ["-5", "1e9", "-5.0"], ["-5.1", "-1e0", "-10"]),
        (NumberSet.of(integer=True), ["1", "1.0", "1.000", "-0"], ["1.5", "1e2", "01", "+1", "1."]),
        (
            NumberSet.of(minimum=2**63),
            ["9223372036854775808", "1" + "0" * 30],
            ["9223372036854775807", "9223372036854775807.9"],
        ),
        (
            NumberSet.of(maximum=1e300, minimum=1e299),
            ["1" + "0" * 300, "1" + "0" * 299, "9" * 300],
            ["1" + "0" * 299 + "1", "9" * 299, "1e299"],
        ),
        (
            NumberSet.of(exclusive_minimum=1e-300),
            ["0." + "0" * 299 + "11", "1"],
            ["0." + "0" * 299 + "1", "0"],
        ),
        (NumberSet.of(multiple_of=0.01), ["0.07", "0.070", "19.99", "3"], ["0.075", "0.001"]),
        (NumberSet.of(multiple_of=2.5), ["2.5", "-5", "7.50"], ["2", "2.51"]),
        (NumberSet.of(multiple_of=1_000_000), ["0", "3000000", "12000000.0"], ["1500000"]),
        (NumberSet.of(multiple_of=1024, minimum=1), ["1024", "1073741824"], ["0", "1000"]),
        (NumberSet.of(minimum=7, maximum=7), ["7", "7.0"], ["8", "6.9", "07"]),
    ],
    ids=str,
)
def test_spellings_at_the_edges(
    numbers: NumberSet, accepted: list[str], rejected: list[str]
) -> None:
    language = numbers.language()
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in rejected if language.accepts(text)] == []


@given(st.from_regex(SPELLING, fullmatch=True))
@example("9" * 40 + "." + "9" * 40 + "e267")
@example("0." + "0" * 39 + "1e-267")
@example("1e-07")
@example("1e268")
@example("1e0000")
def test_an_exponent_never_leaves_what_a_float_can_hold(text: str) -> None:
    assume(len(text) < 100)
    whole, fraction, power = SPELLING.fullmatch(text).groups()  # type: ignore[union-attr]
    fits = len(whole) <= 40 and len(fraction or "") <= 40
    fits = fits and (power is None or (len(power) <= 3 and int(power) <= 267))
    assert NumberSet().language().accepts(text) == fits
    if fits:
        value = float(text)
        assert abs(value) != float("inf")
        assert (value == 0) == (re.fullmatch(r"-?[0.]+([eE].*)?", text) is not None)


def test_digits_are_limited_except_where_the_set_itself_needs_more() -> None:
    few = DigitBounds(integer=2, fraction=1, exponent=0)
    free = NumberSet().language(digits=few)
    assert free.accepts("99.9")
    assert not free.accepts("100")
    assert not free.accepts("1.25")
    assert not free.accepts("1e1")
    assert NumberSet.of(minimum=12345.678).language(digits=few).accepts("12345.678")
    between = NumberSet.of(exclusive_minimum=Decimal("0.9"), exclusive_maximum=1)
    assert between.language(digits=few).accepts("0.95")
    assert NumberSet.of(integer=True).language(digits=DigitBounds(fraction=0)).accepts("5")
    assert not NumberSet.of(integer=True).language(digits=DigitBounds(fraction=0)).accepts("5.0")


@given(number_sets, number_sets, decimals)
def test_intersection_is_membership_in_both(a: NumberSet, b: NumberSet, value: Decimal) -> None:
    both = a.intersect(b)
    assert (value in both) == (value in a and value in b)
    assert both == b.intersect(a)
    assert a.intersect(a) == a


@given(number_sets, number_sets)
def test_the_language_of_an_intersection_is_the_intersection_of_the_languages(
    a: NumberSet, b: NumberSet
) -> None:
    # The same widths for all three, wider than any bound or step here.
    digits = DigitBounds(integer=6, fraction=6, exponent=0)
    both = a.language(digits=digits).intersect(b.language(digits=digits))
    small = NumberSet.of(minimum=-99_999, maximum=99_999).language(digits=digits)
    assert both.intersect(small) == a.intersect(b).language(digits=digits).intersect(small)


def test_equal_sets_are_equal_values() -> None:
    of = NumberSet.of
    assert of(integer=True) == of(multiple_of=1) == of(multiple_of=(1, Decimal("0.5")))
    assert of(integer=True, minimum=0.5) == of(integer=True, exclusive_minimum=0)
    assert of(multiple_of=(4, 6)) == of(multiple_of=12)
    assert of(minimum=1, exclusive_minimum=1) == of(exclusive_minimum=1)
    assert of(minimum=2, maximum=1) == of(integer=True, exclusive_minimum=0, maximum=0.5)
    assert hash(of(minimum=1.0)) == hash(of(minimum=1))
    assert of(minimum=3, maximum=3).is_integer
    assert not of(multiple_of=0.5).is_integer


def test_a_float_means_the_decimal_that_was_written() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert 0.3 in NumberSet.of(multiple_of=0.1)
    assert Decimal("1e20") in NumberSet.of(maximum=1e20)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("1e999999999"), True, "1"]
)
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(GrammarError):
        exact(value)  # type: ignore[arg-type]


def test_bad_steps_bounds_and_widths_are_refused() -> None:
    with pytest.raises(GrammarError, match="greater than 0"):
        NumberSet.of(multiple_of=0)
    with pytest.raises(GrammarError, match="decimal expansion"):
        NumberSet(minimum=Fraction(1, 3)).language()
    with pytest.raises(GrammarError, match=r"DigitBounds\.integer"):
        DigitBounds(integer=0)


def test_a_step_with_too_many_remainders_names_the_limit() -> None:
    with pytest.raises(LimitError, match="multipleOf") as caught:
        NumberSet.of(multiple_of=1_000_003).language()
    assert caught.value.limit == "dfa_states"
    with pytest.raises(LimitError):
        NumberSet.of(multiple_of=97).language(limits=Limits(dfa_states=50))
    bounded = NumberSet.of(multiple_of=1_009, minimum=0, maximum=3_027)
    assert bounded.language().accepts("2018")


def test_common_sets_have_small_automata() -> None:
    assert len(NumberSet.of(integer=True).language().accepting) < 90
    assert len(NumberSet().language().accepting) < 100
    assert len(NumberSet.of(multiple_of=1_000_000).language().accepting) < 60


bounds = st.sampled_from([None, -10, -1, 0, 1, 5, 10])
number_sets = st.builds(
    lambda low, high, integer: NumberSet.of(minimum=low, maximum=high, integer=integer),
    bounds,
    bounds,
    st.booleans(),
)


@given(number_sets, st.frozensets(number_sets, max_size=3))
def test_numbers_that_are_taken_out_are_in_no_spelling(
    within: NumberSet, excluded: frozenset[NumberSet]
) -> None:
    language = Languages({}, DEFAULT_LIMITS, DigitBounds(), asserts_formats=True).number(
        NumberPart(within, excluded)
    )
    for text in ("10", "1e1", "1E+1", "1.0e1", "100e-1", "-1e0", "-10E-1", "0e1", "5e0", "0.5e1"):
        value = Fraction(text)
        if language.accepts(text):
            assert value in within, text
            assert not any(value in taken for taken in excluded), text
    for text in ("10", "1.0", "-1", "0", "0.5", "-2", "7.25"):
        value = Fraction(text)
        is_member = value in within and not any(value in taken for taken in excluded)
        assert language.accepts(text) == is_member, text


def test_a_step_with_too_many_remainders_is_an_error_of_the_schema() -> None:
    """Not of a mask when a text gets there; bounded, it may well be possible."""
    for kind in ("number", "integer"):
        schema = {"properties": {"a": {"type": kind, "multipleOf": 0.123456789}}}
        with pytest.raises(LimitError, match="multipleOf"):
            JsonSchemaGrammar(schema)
    step = {"multipleOf": 0.00123457, "minimum": 0, "maximum": 0.01}
    assert JsonSchemaGrammar({"properties": {"a": step}})
