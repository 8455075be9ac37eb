"""From masked logits to token ids: temperature, top-k, top-p, min-p, in that order.

The order and the meaning of each filter are those of transformers and vLLM:

1. *temperature* divides the logits; 0 means greedy, the first of the largest logits;
2. *top-k* keeps the k largest, and what equals the k-th;
3. *top-p* keeps the smallest set of most likely tokens whose probabilities, after the filters
   before, sum to p or more, and what equals the last of them (Holtzman et al., "The Curious
   Case of Neural Text Degeneration", 2020); the most likely one always stays;
4. *min-p* keeps the tokens at least ``min_p`` times as likely as the most likely one (Nguyen et
   al., "Turning Up the Heat", 2024).

Each row draws with its own generator, on the host and by inverting its cumulative distribution,
so that row i of a batch gives the same ids as the same prompt alone with the same seed, on any
device. Probabilities are float64: float32 sums over a vocabulary of 10^5 lose the tail.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BitmaskError

if TYPE_CHECKING:
    import torch

__all__ = ["SamplingParams", "row_generators", "sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How the next token is drawn.

    Attributes:
        temperature: 0 is greedy.
        top_k: keep the k likeliest tokens; ``None`` keeps all.
        top_p: keep the likeliest tokens up to this total probability, in (0, 1].
        min_p: drop tokens less likely than this share of the likeliest, in [0, 1].
        seed: ``None`` draws differently each time.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not _is_real(self.temperature) or not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature must be 0 (greedy) or more, not {self.temperature!r}")
        if self.top_k is not None and (not _is_integer(self.top_k) or self.top_k < 1):
            raise ValueError(f"top_k must be 1 or more, or None for no limit, not {self.top_k!r}")
        if not _is_real(self.top_p) or not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], not {self.top_p!r}")
        if not _is_real(self.min_p) or not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be in [0, 1], not {self.min_p!r}")
        if self.seed is not None and not _is_integer(self.seed):
            raise ValueError(f"seed must be an integer or None, not {self.seed!r}")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def row_generators(params: SamplingParams, rows: int) -> list[random.Random]:
    """One source of randomness for each row; with a seed, all rows start alike."""
    return [random.Random(params.seed) for _ in range(rows)]


def sample(
    logits: torch.Tensor, params: SamplingParams, generators: Sequence[random.Random]
) -> list[int]:
    """Draw one token for each row.

    Args:
        logits: floating[batch, size], masked with ``-inf``. They are not changed.
        params: the same for all rows.
        generators: one for each row; each advances by one draw (none when greedy).

    Returns:
        batch token ids, none of them masked.

    Raises:
        BitmaskError: a row without any finite logit, or with NaN.
    """
    import torch

    if logits.ndim != 2 or logits.shape[0] != len(generators):
        raise BitmaskError(
            f"logits must be [{len(generators)}, size] for {len(generators)} generators, not "
            f"{list(logits.shape)}"
        )
    top = logits.max(dim=-1)
    if not bool(torch.isfinite(top.values).all()):
        row = int(torch.nonzero(~torch.isfinite(top.values))[0])
        raise BitmaskError(f"row {row} has no token to sample: its largest logit is not finite")
    if params.is_greedy:
        greedy: list[int] = top.indices.tolist()
        return greedy
    # Where a grammar leaves few tokens, all the rest is work on few columns.
    columns = (logits > float("-inf")).any(dim=0).nonzero().flatten()
    weights = _filtered(logits[:, columns], params)
    totals = weights.cumsum(dim=-1)
    # random() < 1, so the target is below the total and lands on a token of positive weight.
    draws = [generator.random() for generator in generators]
    targets = totals[:, -1:] * torch.tensor(draws, dtype=totals.dtype).to(totals.device)[:, None]
    found = torch.searchsorted(totals, targets, right=True)
    # Rounding of the product may reach the total itself: take the last token of any weight then.
    last = (weights > 0).to(torch.int8).cumsum(dim=-1, dtype=torch.int32).argmax(dim=-1)
    ids: list[int] = columns[torch.minimum(found[:, 0], last)].tolist()
    return ids


def _filtered(logits: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Unnormalised probabilities, float64[batch, size], zero where filtered out."""
    import torch

    # The largest is subtracted before dividing, so that a tiny temperature cannot overflow.
    scaled = logits.double()
    scaled = (scaled - scaled.max(dim=-1, keepdim=True).values) / params.temperature
    if params.top_k is not None and params.top_k < logits.shape[-1]:
        kth = scaled.topk(params.top_k, dim=-1).values[:, -1:]
        scaled = scaled.masked_fill(scaled < kth, float("-inf"))
    weights = torch.exp(scaled)
    if params.top_p < 1:
        ordered = weights.sort(dim=-1, descending=True).values
        # A token stays while those before it sum to less than p.
        before = ordered.cumsum(dim=-1) - ordered
        stays = before < params.top_p * ordered.sum(dim=-1, keepdim=True)
        least = ordered.masked_fill(~stays, float("inf")).amin(dim=-1, keepdim=True)
        weights = weights.masked_fill(weights < least, 0.0)
    if params.min_p > 0:
        # The likeliest token has weight 1 here, and survives every filter.
        weights = weights.masked_fill(weights < params.min_p, 0.0)
    return weights
