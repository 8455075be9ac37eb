"""Sampling: the filters against plain definitions, seeds, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from maskwright.decoding.sampling import SamplingParams, row_generators, sample
from maskwright.errors import BitmaskError

# Multiples of 1/4 are exact at all these temperatures, so ties are ties.
LOGITS = st.lists(
    st.one_of(st.just(-math.inf), st.integers(-20, 20).map(lambda n: n / 4)),
    min_size=1,
    max_size=12,
).filter(lambda row: max(row) > -math.inf)


def reachable(row: list[float], params: SamplingParams) -> dict[int, float]:
    """Each token that may be drawn, with its probability: the filters by definition."""
    weights = {
        token: math.exp((x - max(row)) / params.temperature)
        for token, x in enumerate(row)
        if x > -math.inf
    }

    def keep(least: float) -> dict[int, float]:
        return {token: w for token, w in weights.items() if w >= least}

    if params.top_k is not None:
        weights = keep(sorted(weights.values(), reverse=True)[: params.top_k][-1])
    total, nucleus = 0.0, math.inf
    for w in sorted(weights.values(), reverse=True):
        if total >= params.top_p * sum(weights.values()):
            break
        total, nucleus = total + w, w
    weights = keep(nucleus)
    weights = keep(params.min_p)
    return {token: w / sum(weights.values()) for token, w in weights.items()}


class Fixed:
    """A source of one known draw in [0, 1)."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def draw(row: list[float], params: SamplingParams, at: float) -> int:
    source: Any = Fixed(at)
    (token,) = sample(torch.tensor([row]), params, [source])
    return token


@given(
    LOGITS,
    st.sampled_from([0.5, 1.0, 2.0]),
    st.none() | st.integers(1, 14),
    st.sampled_from([0.15, 0.55, 0.93, 1.0]),
    st.sampled_from([0.0, 0.07, 0.6, 1.0]),
)
def test_the_filters_mean_what_their_definitions_say(
    row: list[float], temperature: float, top_k: int | None, top_p: float, min_p: float
) -> None:
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    expected = reachable(row, params)
    below = 0.0
    for token in sorted(expected):  # the inverse of the distribution function, token by token
        assert draw(row, params, below + expected[token] / 2) == token
        below += expected[token]
    assert draw(row, params, 0.0) == min(expected)
    assert draw(row, params, math.nextafter(1, 0)) == max(expected)


def test_frequencies_follow_the_distribution() -> None:
    params = SamplingParams(seed=3)
    (source,) = row_generators(params, 1)
    logits = torch.tensor([[0.5, 0.3, 0.2, 0.0]]).log()
    counts = Counter(sample(logits, params, [source])[0] for _ in range(4000))
    assert counts.keys() == {0, 1, 2}
    for token, probability in enumerate([0.5, 0.3, 0.2]):
        assert abs(counts[token] / 4000 - probability) < 0.03


@given(st.lists(LOGITS.map(lambda row: (row + [-math.inf] * 12)[:12]), min_size=1, max_size=4))
def test_a_row_of_a_batch_draws_what_it_draws_alone(rows: list[list[float]]) -> None:
    rows = [row if max(row) > -math.inf else [0.0] * 12 for row in rows]
    params = SamplingParams(temperature=0.5, top_p=0.9, seed=11)
    together = [row_generators(params, len(rows)), torch.tensor(rows)]
    alone = [row_generators(params, 1) for _ in rows]
    for _ in range(3):
        batch = sample(together[1], params, together[0])  # type: ignore[arg-type]
        single = [
            sample(torch.tensor([row]), params, own)[0]
            for row, own in zip(rows, alone, strict=True)
        ]
        assert batch == single


@given(LOGITS)
def test_greedy_takes_the_first_of_the_largest(row: list[float]) -> None:
    params = SamplingParams(temperature=0)
    assert draw(row, params, 0.9) == row.index(max(row))


def test_tiny_temperatures_neither_overflow_nor_leave_the_largest() -> None:
    row = [30000.0, -30000.0, 29999.0]
    assert draw(row, SamplingParams(temperature=1e-300), 0.99) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_logits_of_every_dtype_stay_unchanged(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1.0, 2.0, -math.inf]], dtype=dtype)
    before = logits.clone()
    params = SamplingParams(top_k=2, top_p=0.9, min_p=0.1, seed=0)
    assert sample(logits, params, row_generators(params, 1))[0] in (0, 1)
    assert torch.equal(logits, before)


@pytest.mark.parametrize("bad", [-math.inf, math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_row_that_cannot_be_sampled_is_refused(bad: float, temperature: float) -> None:
    params = SamplingParams(temperature=temperature)
    logits = torch.tensor([[0.0, 1.0], [bad, bad]])
    with pytest.raises(BitmaskError, match="row 1"):
        sample(logits, params, row_generators(params, 2))


def test_each_row_needs_a_generator() -> None:
    params = SamplingParams()
    with pytest.raises(BitmaskError, match="generators"):
        sample(torch.zeros(2, 4), params, row_generators(params, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.inf),
        ("temperature", math.nan),
        ("temperature", "1"),
        ("top_k", 0),
        ("top_k", 1.5),
        ("top_k", True),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("seed", 1.5),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        SamplingParams(**{name: value})
