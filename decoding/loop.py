"""The generation loop: mask, sample, accept, until every row has finished.

The mask for a row's next token is filled as soon as its last one is accepted. It tells whether
anything but the end may follow; if not, the row is finished without another pass through the
model. A mask of a single token needs no sampling: the token is taken as it is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import TokenRejectedError
from .bitmask import WORD_BITS, allocate_bitmask, apply_bitmask
from .matching import Matcher, TokenTable
from .sampling import SamplingParams, sample

if TYPE_CHECKING:
    import torch

__all__ = ["LanguageModel", "Row", "decode"]


class LanguageModel(Protocol):
    """What the loop needs of a model; see :class:`.model.CausalModel`."""

    def prefill(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor: ...

    def step(self, tokens: Sequence[int]) -> torch.Tensor: ...


@dataclass(slots=True)
class Row:
    """One sequence of a batch.

    Attributes:
        matcher: its place in its grammar.
        source: where its draws come from.
        tokens: what was generated, without the end token.
        forced: how many of them were the only choice.
        finish_reason: ``None`` while it goes on.
    """

    matcher: Matcher
    source: random.Random
    tokens: list[int] = field(default_factory=list)
    forced: int = 0
    finish_reason: Literal["stop", "length"] | None = None


def decode(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    rows: Sequence[Row],
    *,
    vocabulary: TokenTable,
    params: SamplingParams,
    max_tokens: int,
) -> Iterator[None]:
    """Extend all rows token by token; yields after each, when ``rows`` are up to date.

    Args:
        prompts: token ids for each row.
        vocabulary: the one that all matchers were compiled for.
        max_tokens: how many tokens of text a row may have; the end token is not counted.
    """
    bits = allocate_bitmask(len(rows), vocabulary.size)
    text = ~_bits_of(vocabulary.eos_ids, vocabulary.size)
    live = _open_rows(rows, bits, text, max_tokens)
    if not live:
        return
    logits = model.prefill(prompts)
    while True:
        for i, token in zip(live, _choose(logits, bits, rows, live, params), strict=True):
            _take(rows[i], token, forced=_only(bits[i]))
        live = _open_rows(rows, bits, text, max_tokens)
        yield
        if not live:
            return
        logits = model.step([row.tokens[-1] if row.tokens else 0 for row in rows])


def _open_rows(
    rows: Sequence[Row], bits: NDArray[np.int32], text: NDArray[np.int32], max_tokens: int
) -> list[int]:
    """Fill the masks of the rows that go on, and return these; finish the others."""
    live = []
    for i, row in enumerate(rows):
        if row.finish_reason is not None:
            continue
        row.matcher.fill_bitmask(bits, i)
        if not np.any(bits[i] & text) and row.matcher.is_accepting():
            row.finish_reason = "stop"
        elif len(row.tokens) >= max_tokens:
            row.finish_reason = "length"
        else:
            live.append(i)
    return live


def _only(mask: NDArray[np.int32]) -> bool:
    """Whether a mask has a single token."""
    return int(np.bitwise_count(mask).sum()) == 1


def _bits_of(tokens: Sequence[int], size: int) -> NDArray[np.int32]:
    row: NDArray[np.int32] = allocate_bitmask(1, size)[0]
    words = row.view(np.uint32)
    for token in tokens:
        words[token // WORD_BITS] |= np.uint32(1 << token % WORD_BITS)
    return row


def _choose(
    logits: torch.Tensor,
    bits: NDArray[np.int32],
    rows: Sequence[Row],
    live: list[int],
    params: SamplingParams,
) -> list[int]:
    """The next token of each live row."""
    import torch

    chosen = {
        i: int(np.flatnonzero(np.unpackbits(bits[i].view(np.uint8), bitorder="little"))[0])
        for i in live
        if _only(bits[i])
    }
    free = [i for i in live if i not in chosen]
    if free:
        with torch.inference_mode():
            picked = logits[free]  # a copy: the mask is applied in place
            apply_bitmask(picked, bits[free])
            tokens = sample(picked, params, [rows[i].source for i in free])
        chosen.update(zip(free, tokens, strict=True))
    return [chosen[i] for i in live]


def _take(row: Row, token: int, *, forced: bool) -> None:
    if not row.matcher.accept(token):
        raise TokenRejectedError(
            f"the mask allows token {token}, but the matcher does not: it was used elsewhere "
            "while generating, or this is a bug of its grammar",
            token_id=token,
            position=len(row.tokens),
        )
    if row.matcher.is_done:
        row.finish_reason = "stop"
        return
    row.tokens.append(token)
    row.forced += forced
