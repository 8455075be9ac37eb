"""Bitmasks over the vocabulary, and masking logits with them.

Layout (the one vLLM, SGLang, XGrammar and llguidance share): ``int32[batch, ceil(size / 32)]``;
bit ``t % 32`` of word ``t // 32`` says that token ``t`` is allowed. Matchers fill rows on the
host; here they meet the logits, wherever those are.

Everything fails closed. A fresh bitmask allows nothing, logits beyond the mask's last token are
masked, and a row in which no token is left raises instead of handing ``-inf`` only to a sampler,
which would return NaN probabilities or, worse, token 0.

Nothing loops over rows in Python. On the host NumPy unpacks the bits (10 µs a row of 128 k
tokens); on a device the words, 16 KB a row, are copied and shifted by ``0..31`` there. The
checks read the host's copy of the words, so a bitmask that matchers filled never makes the host
wait for the device. A gather of the allowed logits alone would touch less memory, but its shape
would depend on the data, which on a device means waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BitmaskError

if TYPE_CHECKING:
    import torch

__all__ = ["WORD_BITS", "Bitmask", "Logits", "allocate_bitmask", "apply_bitmask", "mask_words"]

Bitmask: TypeAlias = "NDArray[np.int32] | torch.Tensor"
Logits: TypeAlias = "NDArray[np.floating[Any]] | torch.Tensor"

WORD_BITS = 32


def mask_words(vocab_size: int) -> int:
    """Number of int32 words of a row for ``vocab_size`` tokens."""
    return -(-vocab_size // WORD_BITS)


def allocate_bitmask(batch: int, vocab_size: int) -> NDArray[np.int32]:
    """A bitmask for ``batch`` sequences that allows nothing yet.

    Args:
        batch: number of rows.
        vocab_size: number of token ids, ``Vocabulary.size``.

    Returns:
        int32[batch, ceil(vocab_size / 32)], all zero.

    Raises:
        BitmaskError: a negative batch or an empty vocabulary.

    >>> allocate_bitmask(2, 100).shape
    (2, 4)
    """
    if batch < 0 or vocab_size < 1:
        raise BitmaskError(
            f"a bitmask has 0 or more rows and 1 or more tokens, not {batch} and {vocab_size}"
        )
    return np.zeros((batch, mask_words(vocab_size)), dtype=np.int32)


def apply_bitmask(logits: Logits, bits: Bitmask) -> None:
    """Set the logits of every token that is not allowed to ``-inf``, in place.

    Logits may be wider than the mask (padded embeddings): the columns beyond it are masked.
    They may be narrower if the bits beyond the last logit are all zero; a set one is an error,
    because its token could never be sampled.

    Args:
        logits: floating[size] or floating[batch, size], a NumPy array or a torch tensor on any
            device, contiguous or not.
        bits: int32[words] or int32[batch, words], a NumPy array or a torch tensor. One on a
            device is read back to be checked, so keep it on the host.

    Raises:
        BitmaskError: wrong shape or dtype, differing numbers of rows, a bit beyond the logits,
            or a row that allows nothing. The logits are unchanged then.
    """
    if isinstance(logits, np.ndarray):
        _apply_numpy(logits, bits)
    elif type(logits).__module__.partition(".")[0] == "torch":
        _apply_torch(logits, bits)
    else:
        raise BitmaskError(
            f"logits must be a NumPy array or a torch tensor, not {type(logits).__name__}"
        )


def _words(bits: Bitmask) -> NDArray[np.int32]:
    """The bitmask on the host, int32[batch, words]."""
    array: Any
    if isinstance(bits, np.ndarray):
        array = bits
    elif type(bits).__module__.partition(".")[0] == "torch":
        array = bits.detach().cpu().numpy()
    else:
        raise BitmaskError(
            f"a bitmask must be a NumPy array or a torch tensor, not {type(bits).__name__}"
        )
    if array.dtype != np.int32:
        raise BitmaskError(f"a bitmask must be int32, not {array.dtype}")
    if array.ndim not in (1, 2):
        raise BitmaskError(f"a bitmask must be [words] or [batch, words], not {list(array.shape)}")
    return np.ascontiguousarray(np.atleast_2d(array))


def _check(shape: tuple[int, ...], words: NDArray[np.int32]) -> None:
    if len(shape) not in (1, 2) or shape[-1] == 0:
        raise BitmaskError(f"logits must be [size] or [batch, size], not {list(shape)}")
    rows, size = (shape[0] if len(shape) == 2 else 1), shape[-1]
    if rows != words.shape[0]:
        raise BitmaskError(f"{rows} rows of logits, but {words.shape[0]} of the bitmask")
    empty = np.flatnonzero(~words.any(axis=1))
    if len(empty):
        raise BitmaskError(
            f"row {empty[0]} allows no token: fill the row before applying it, and stop a "
            "sequence whose matcher is done"
        )
    first, odd = divmod(size, WORD_BITS)
    outside = words[:, first:].copy()
    if outside.shape[1]:
        outside[:, 0] &= -1 << odd
        beyond = np.flatnonzero(outside.any(axis=1))
        if len(beyond):
            raise BitmaskError(
                f"row {beyond[0]} allows a token id beyond the last logit ({size - 1}): build "
                f"the Vocabulary with size={size}"
            )


def _denied(words: NDArray[np.int32]) -> NDArray[np.bool_]:
    """bool[batch, 32 * words]: the complement of the bits, one byte each."""
    octets = (~words).astype("<i4", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def _apply_numpy(logits: NDArray[np.floating[Any]], bits: Bitmask) -> None:
    if not np.issubdtype(logits.dtype, np.floating):
        raise BitmaskError(f"logits must be floating point, not {logits.dtype}")
    words = _words(bits)
    _check(logits.shape, words)
    denied = _denied(words)[:, : logits.shape[-1]]
    width = denied.shape[1]
    # A view in both cases: the assignments reach the caller's array.
    rows = logits if logits.ndim == 2 else logits[None]
    np.copyto(rows[:, :width], -np.inf, where=denied)
    rows[:, width:] = -np.inf


def _apply_torch(logits: torch.Tensor, bits: Bitmask) -> None:
    import torch

    if not logits.dtype.is_floating_point:
        raise BitmaskError(f"logits must be floating point, not {logits.dtype}")
    words = _words(bits)
    _check(tuple(logits.shape), words)
    if logits.device.type == "cpu":
        denied = torch.from_numpy(_denied(words))
    else:
        source = bits if isinstance(bits, torch.Tensor) else torch.from_numpy(words.copy())
        moved = source.to(logits.device, non_blocking=True).reshape(words.shape)
        shifts = torch.arange(WORD_BITS, dtype=torch.int32, device=logits.device)
        # The shift of a negative word copies its sign bit; "& 1" drops the copies.
        denied = ((moved[..., None] >> shifts) & 1).reshape(len(words), -1) == 0
    size = logits.shape[-1]
    denied = denied[:, :size]
    width = denied.shape[1]
    rows = logits if logits.ndim == 2 else logits[None]
    rows[:, :width].masked_fill_(denied, float("-inf"))
    if width < size:
        rows[:, width:].fill_(float("-inf"))
