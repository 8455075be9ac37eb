"""Bitmasks: the layout, and masking logits of every shape, dtype and memory order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from maskwright.decoding.bitmask import allocate_bitmask, apply_bitmask
from maskwright.errors import BitmaskError

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def bits_of(rows: list[set[int]], size: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    bits = allocate_bitmask(len(rows), size)
    for row, tokens in enumerate(rows):
        for token in tokens:
            bits.view(np.uint32)[row, token // 32] |= np.uint32(1 << token % 32)
    return bits


def kept(logits: Any) -> list[set[int]]:
    """The columns of each row that are not masked."""
    finite = np.isfinite(np.asarray(logits.tolist()))
    return [set(np.flatnonzero(row).tolist()) for row in np.atleast_2d(finite)]


@st.composite
def masks(draw: st.DrawFn) -> tuple[int, list[set[int]]]:
    size = draw(st.integers(1, 130))
    token = st.integers(0, size - 1) | st.just(size - 1)
    return size, draw(st.lists(st.sets(token, min_size=1), min_size=1, max_size=4))


def test_a_fresh_bitmask_allows_nothing() -> None:
    bits = allocate_bitmask(3, 33)
    assert (bits.dtype, bits.shape, bits.any()) == (np.int32, (3, 2), False)


@pytest.mark.parametrize(("batch", "size"), [(-1, 8), (1, 0)])
def test_impossible_bitmasks_are_refused(batch: int, size: int) -> None:
    with pytest.raises(BitmaskError, match="rows"):
        allocate_bitmask(batch, size)


@given(masks(), st.sampled_from(DTYPES), st.booleans())
def test_exactly_the_set_bits_survive(
    mask: tuple[int, list[set[int]]], dtype: torch.dtype, as_tensor: bool
) -> None:
    size, rows = mask
    bits = bits_of(rows, size)
    logits = torch.zeros(len(rows), size, dtype=dtype)
    apply_bitmask(logits, torch.from_numpy(bits) if as_tensor else bits)
    assert kept(logits) == rows


@given(masks())
def test_numpy_logits_are_masked_in_place(mask: tuple[int, list[set[int]]]) -> None:
    size, rows = mask
    logits = np.zeros((size, len(rows)), np.float32).T  # not contiguous
    apply_bitmask(logits, bits_of(rows, size))
    assert kept(logits) == rows


@given(masks(), st.integers(0, 70))
def test_columns_beyond_the_mask_are_masked(mask: tuple[int, list[set[int]]], more: int) -> None:
    size, rows = mask
    for logits in (torch.zeros(len(rows), size + more), np.zeros((len(rows), size + more))):
        apply_bitmask(logits, bits_of(rows, size))
        assert kept(logits) == rows


def test_logits_may_be_narrower_where_no_bit_is_lost() -> None:
    bits = bits_of([{0, 34}], 100)
    logits = torch.zeros(1, 35)
    apply_bitmask(logits, bits)
    assert kept(logits) == [{0, 34}]
    with pytest.raises(BitmaskError, match=r"beyond the last logit \(33\)"):
        apply_bitmask(torch.zeros(1, 34), bits)


def test_strided_and_one_dimensional_tensors_keep_their_other_elements() -> None:
    whole = torch.zeros(4, 80)
    apply_bitmask(whole[1:3, ::2], bits_of([{0}, {39}], 40))
    assert kept(whole[1:3, ::2]) == [{0}, {39}]
    assert torch.isfinite(whole[[0, 3]]).all()
    assert torch.isfinite(whole[:, 1::2]).all()
    row = torch.zeros(40)
    apply_bitmask(row, bits_of([{7}], 40)[0])
    assert kept(row) == [{7}]


def test_a_strided_bitmask_is_read_as_it_is() -> None:
    bits = np.zeros((2, 4), np.int32)
    bits[:, ::2] = bits_of([{1, 40}, {2}], 64)
    logits = torch.zeros(2, 64)
    apply_bitmask(logits, bits[:, ::2])
    assert kept(logits) == [{1, 40}, {2}]


GOOD = bits_of([{1}], 64)


@pytest.mark.parametrize(
    ("logits", "bits", "says"),
    [
        (torch.zeros(1, 64), allocate_bitmask(1, 64), "row 0 allows no token"),
        (torch.zeros(2, 64), bits_of([{1}, set()], 64), "row 1 allows no token"),
        (np.zeros((1, 64)), allocate_bitmask(1, 64), "row 0 allows no token"),
        (torch.zeros(2, 64), GOOD, "2 rows of logits, but 1"),
        (torch.zeros(1, 1, 64), GOOD, "size"),
        (torch.zeros(1, 0), GOOD, "size"),
        (torch.zeros(1, 64), GOOD[None], "words"),
        (torch.zeros(1, 64), GOOD.astype(np.int64), "int32, not int64"),
        (torch.zeros(1, 64), GOOD.view(np.uint32), "int32, not uint32"),
        (torch.zeros(1, 64), torch.ones(1, 64, dtype=torch.bool), "int32, not bool"),
        (torch.zeros(1, 64), [[1, 2]], "not list"),
        (torch.zeros(1, 64, dtype=torch.int64), GOOD, "floating point"),
        (np.zeros((1, 64), np.int32), GOOD, "floating point"),
        ([0.0] * 64, GOOD, "not list"),
    ],
)
def test_misuse_is_refused_and_changes_nothing(logits: Any, bits: Any, says: str) -> None:
    before = np.array(logits.tolist() if hasattr(logits, "tolist") else logits)
    with pytest.raises(BitmaskError, match=says):
        apply_bitmask(logits, bits)
    after = np.array(logits.tolist() if hasattr(logits, "tolist") else logits)
    assert np.array_equal(before, after)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("on_device", [False, True])
def test_logits_on_a_device_are_masked_there(on_device: bool) -> None:
    rows = [{0, 31, 32, 99}, {64}]
    bits = torch.from_numpy(bits_of(rows, 100))
    logits = torch.zeros(2, 110, device="cuda", dtype=torch.bfloat16)
    apply_bitmask(logits, bits.cuda() if on_device else bits)
    assert kept(logits) == rows
