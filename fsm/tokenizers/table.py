"""What a tokenizer family's reader returns, and the array operations the readers share.

Tokens are kept as one ``blob`` with ``offsets`` from the start: 128,256 separate ``bytes``
objects would cost more time than everything else that is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...errors import VocabularyError

__all__ = [
    "MAX_SIZE",
    "BlobArray",
    "OffsetArray",
    "TokenTable",
    "end_ids_by_name",
    "join_tokens",
    "replace_tokens",
]

BlobArray = npt.NDArray[np.uint8]
OffsetArray = npt.NDArray[np.int64]

MAX_SIZE = 1 << 24
"""Most logits columns: 60 times today's largest; a stray huge id must not exhaust memory."""

_END_NAMES = (
    "</s>",
    "<eos>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<end_of_turn>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",  # noqa: RUF001 - DeepSeek's own spelling
)
# Not here: "<|end|>" and "<|call|>", which end a turn in one family and a part of it in
# another. A caller who wants them passes eos_ids.


@dataclass(frozen=True, slots=True, eq=False)
class TokenTable:
    """A tokenizer's tokens as bytes.

    Attributes:
        blob: ``uint8[total]``.
        offsets: ``int64[n + 1]``; token ``t`` is ``blob[offsets[t]:offsets[t + 1]]``, empty
            for holes. What lies at special ids is ignored.
        special_tokens: name of each special token to its id.
        special_ids: all ids that never stand for text, named or not.
        added_tokens: tokens added to the model's own that *are* text, content to id.
        eos_ids: ids that end a text, as far as the tokenizer tells; the usual one first.
        encode: text to ids, with no special tokens put around it.
    """

    blob: BlobArray
    offsets: OffsetArray
    special_tokens: Mapping[str, int]
    special_ids: frozenset[int]
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    eos_ids: tuple[int, ...] = ()
    encode: Callable[[str], list[int]] | None = None


def end_ids_by_name(special_tokens: Mapping[str, int]) -> tuple[int, ...]:
    """The ids of special tokens whose names are known to end a text or a turn."""
    return tuple(special_tokens[name] for name in _END_NAMES if name in special_tokens)


def join_tokens(tokens: Iterable[bytes]) -> tuple[BlobArray, OffsetArray]:
    """Lay tokens out one after the other: ``uint8[total]``, ``int64[n + 1]``."""
    pieces = list(tokens)
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=offsets[1:])
    # A copy, because kernels take writable arrays only.
    return np.frombuffer(b"".join(pieces), np.uint8).copy(), offsets


def replace_tokens(
    blob: BlobArray, offsets: OffsetArray, changes: Mapping[int, bytes], *, size: int
) -> tuple[BlobArray, OffsetArray]:
    """The same tokens with some replaced, cut or padded with empty ones to ``size``.

    Args:
        blob, offsets: the tokens, as in :class:`TokenTable`.
        changes: new bytes by id; ids from ``size`` on are ignored.
        size: number of tokens of the result.

    Raises:
        VocabularyError: ``size`` is more than :data:`MAX_SIZE`.
    """
    if size > MAX_SIZE:
        raise VocabularyError(f"a vocabulary of {size} ids; at most {MAX_SIZE} are supported")
    kept = min(len(offsets) - 1, size)
    lengths = np.zeros(size, np.int64)
    lengths[:kept] = np.diff(offsets[: kept + 1])
    parts: list[BlobArray] = []
    copied = 0  # ids below this one are in parts
    for token in sorted(t for t in changes if t < size):
        if copied < kept:
            parts.append(blob[offsets[copied] : offsets[min(token, kept)]])
        parts.append(np.frombuffer(changes[token], np.uint8))
        lengths[token] = len(changes[token])
        copied = token + 1
    if copied < kept:
        parts.append(blob[offsets[copied] : offsets[kept]])
    result = np.zeros(size + 1, np.int64)
    np.cumsum(lengths, out=result[1:])
    return np.concatenate(parts) if parts else np.zeros(0, np.uint8), result
