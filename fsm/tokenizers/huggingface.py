"""Tokens of a ``tokenizers.Tokenizer``, on its own or inside a transformers fast tokenizer.

What a token spells is decided by the tokenizer's *decoder*, so the decoder is what is read:

* ``ByteLevel``: each character stands for a byte (the table of GPT-2); a token with a
  character outside the table stands for its own UTF-8, as the decoder has it;
* ``Replace("▁", " ")`` or ``Metaspace``, with or without ``ByteFallback``, ``Fuse`` and
  ``Strip``: the token's UTF-8 with spaces restored, ``<0xXX>`` for a single byte. ``Strip``
  and ``Metaspace``'s prefix rule take a space away at the *start of a text* only; the token
  itself spells its space, which is what follows other text.

A decoder whose output for a token depends on its neighbours (WordPiece, ``</w>`` suffixes,
CTC, regular expressions) has no exact bytes a token and is refused.

Added tokens spell their content, with a sentencepiece-like decoder's changes but not a
byte-level one's, and no bytes at all if they are special. (Text that holds ``▁`` itself is
read as a blank by tokenizers of the second kind: no token of theirs spells that character.)

Speed: 128,000 calls of ``id_to_token`` take 115 ms and ``get_vocab`` 160 ms. One ``decode``
of all ids by a decoder-less tokenizer around the same model (shared, not copied) takes 75 ms
and returns the same strings separated by spaces; everything after it is numpy on code points.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VocabularyError
from .table import (
    MAX_SIZE,
    BlobArray,
    OffsetArray,
    TokenTable,
    end_ids_by_name,
    join_tokens,
    replace_tokens,
)

__all__ = ["read_fast_tokenizer", "read_raw_tokenizer"]

CodePoints = npt.NDArray[np.uint32]

_METASPACE = 0x2581  # ▁
_BYTE_PIECE = re.compile("<0x[0-9A-Fa-f]{2}>")
_PROBED = 16_384
"""Ids beyond the number of tokens that are checked to be unused before holes are excluded."""


def _byte_of_character() -> npt.NDArray[np.int16]:
    """GPT-2's table: ``int16[325]``, the byte of each code point, -1 for none.

    Printable Latin-1 characters stand for themselves, the other bytes for the code points
    from 256 on, in order. The last row stands for every code point above the table.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = np.full(256 + len(others) + 1, -1, np.int16)
    table[printable] = printable
    table[256:-1] = others
    return table


_BYTE_OF_CHARACTER = _byte_of_character()


def read_raw_tokenizer(tokenizer: Any) -> TokenTable:
    """Read a ``tokenizers.Tokenizer``.

    It does not say which token ends a text, so ``eos_ids`` are those of its special tokens
    whose names are known for it (``</s>``, ``<|eot_id|>``, ``<|im_end|>``, …).

    Raises:
        VocabularyError: the tokens have no exact bytes, or ids are out of all proportion.
    """
    return _read(tokenizer, extra_special=frozenset(), eos_ids=())


def read_fast_tokenizer(tokenizer: Any, backend: Any) -> TokenTable:
    """Read a transformers fast tokenizer around the ``tokenizers.Tokenizer`` ``backend``.

    ``eos_ids`` starts with the tokenizer's ``eos_token_id``; special tokens whose names are
    known to end a text or a turn follow. A model's generation config may know more: it is
    not part of the tokenizer, so its ids are the caller's to pass.

    Raises:
        VocabularyError: as for :func:`read_raw_tokenizer`.
    """
    eos = getattr(tokenizer, "eos_token_id", None)
    eos_ids = () if eos is None else (eos,) if isinstance(eos, int) else tuple(eos)
    special = frozenset(t for t in tokenizer.all_special_ids if t is not None)
    return _read(backend, extra_special=special, eos_ids=eos_ids)


def _read(backend: Any, *, extra_special: frozenset[int], eos_ids: tuple[int, ...]) -> TokenTable:
    decoding = _decoding(backend)
    blob, offsets = decoding.pieces(backend.model, *_model_pieces(backend))

    added = backend.get_added_tokens_decoder()
    special = extra_special | {t for t, token in added.items() if token.special}
    unknown = getattr(backend.model, "unk_token", None)
    if unknown is not None and (unknown_id := backend.token_to_id(unknown)) is not None:
        special |= {unknown_id}  # it spells whatever could not be spelled, never its name
    changes = {t: decoding.added(token.content) for t, token in added.items()}
    size = max([len(offsets) - 1, *(t + 1 for t in changes)])
    blob, offsets = replace_tokens(blob, offsets, changes, size=size)
    names = {t: backend.id_to_token(t) for t in sorted(special)}
    special_tokens = {name: t for t, name in names.items() if name is not None}
    return TokenTable(
        blob=blob,
        offsets=offsets,
        special_tokens=special_tokens,
        special_ids=special,
        added_tokens={token.content: t for t, token in added.items() if t not in special},
        eos_ids=tuple(dict.fromkeys((*eos_ids, *end_ids_by_name(special_tokens)))),
        encode=lambda text: list(backend.encode(text, add_special_tokens=False).ids),
    )


def _model_pieces(backend: Any) -> tuple[CodePoints, OffsetArray]:
    """The model's own tokens as code points: ``uint32[total]``, ``int64[n + 1]``."""
    model = backend.model
    bare = type(backend)(model)
    count = bare.get_vocab_size()
    if count == 0:
        return np.zeros(0, np.uint32), np.zeros(1, np.int64)
    joined = bare.decode(range(count), skip_special_tokens=False)
    points = _code_points(joined)
    is_blank = points == 0x20
    blanks = np.flatnonzero(is_blank)
    # One blank between every two tokens, or else there are holes (fewer) or tokens with a
    # blank inside (more). Both at once could cancel out, but every hole means an id beyond
    # the count, and those that exist in practice follow closely.
    if len(blanks) == count - 1 and not bare.decode(
        range(count, count + _PROBED), skip_special_tokens=False
    ):
        starts = np.zeros(count + 1, np.int64)
        starts[1:-1] = blanks - np.arange(count - 1)
        starts[-1] = len(points) - len(blanks)
        return points[~is_blank], starts
    by_id = {t: piece for piece, t in bare.get_vocab().items()}
    size = max(by_id) + 1
    if size > MAX_SIZE:
        raise VocabularyError(f"token id {size - 1} is too high; at most {MAX_SIZE - 1}")
    pieces = [by_id.get(t, "") for t in range(size)]
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, size), out=starts[1:])
    return _code_points("".join(pieces)), starts


def _code_points(text: str) -> CodePoints:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@dataclass(frozen=True, slots=True)
class _Decoding:
    """What a tokenizer's decoder does to a single token.

    Attributes:
        byte_level: characters stand for bytes; the other two are then off.
        spaces: ``▁`` stands for a blank.
        byte_fallback: ``<0xXX>`` stands for a byte.
    """

    byte_level: bool = False
    spaces: bool = False
    byte_fallback: bool = False

    def pieces(
        self, model: Any, points: CodePoints, starts: OffsetArray
    ) -> tuple[BlobArray, OffsetArray]:
        """The bytes of the model's own tokens."""
        if self.byte_level:
            return _byte_level(points, starts)
        blob, offsets = _utf8(points, starts, spaces=self.spaces)
        if not self.byte_fallback:
            return blob, offsets
        return replace_tokens(blob, offsets, _byte_pieces(model), size=len(offsets) - 1)

    def added(self, content: str) -> bytes:
        """The bytes of an added token.

        A byte-level decoder would garble an added token's accents, which were never in its
        alphabet; a decoder of ``▁`` restores the blanks of one (Gemma's runs of blanks).
        """
        if self.byte_fallback and _BYTE_PIECE.fullmatch(content):
            return bytes.fromhex(content[3:5])
        return (content.replace("▁", " ") if self.spaces else content).encode()


def _decoding(backend: Any) -> _Decoding:
    """What this tokenizer's decoder does to its tokens.

    Raises:
        VocabularyError: a token's text depends on its neighbours, or the decoder is unknown.
    """
    model = backend.model
    kind = type(model).__name__
    for attribute in ("continuing_subword_prefix", "end_of_word_suffix"):
        if kind == "WordPiece" or getattr(model, attribute, None):
            raise VocabularyError(
                f"this {kind} tokenizer marks word boundaries inside its tokens, so that their "
                "text depends on their neighbours; only byte-level and sentencepiece-like "
                "vocabularies are exact"
            )
    steps = _decoder_steps(backend)
    kinds = {step["type"] for step in steps}
    if kinds - {"Fuse"} == {"ByteLevel"}:
        return _Decoding(byte_level=True)
    fused = spaces = False
    for step in steps:
        known = False
        match step["type"]:
            case "Fuse":
                known = fused = True
            case "ByteFallback":
                known = not fused
            case "Metaspace":
                known = spaces = not fused and step["replacement"] == "▁"
            case "Replace":
                # A single character can be replaced before or after the parts are joined.
                known = spaces = step["pattern"] == {"String": "▁"} and step["content"] == " "
            case "Strip":
                # Only ever at the start of the whole text: not part of any token.
                known = fused and step["stop"] == 0
        if not known:
            raise VocabularyError(
                f"the tokenizer's decoder has the step {json.dumps(step, ensure_ascii=False)}, "
                "whose effect on a single token is not known"
            )
    fallback = "ByteFallback" in kinds or bool(getattr(model, "byte_fallback", False))
    return _Decoding(spaces=spaces, byte_fallback=fallback)


def _decoder_steps(backend: Any) -> list[dict[str, Any]]:
    """The decoder as a flat list of steps; a byte-level pre-tokenizer stands in for none."""
    decoder = backend.decoder
    if decoder is None:
        pre_tokenizer = backend.pre_tokenizer
        if pre_tokenizer is not None and b'"ByteLevel"' in pre_tokenizer.__getstate__():
            return [{"type": "ByteLevel"}]
        raise VocabularyError(
            "the tokenizer has no decoder, so that its tokens' bytes are not known; set "
            "tokenizer.decoder (for byte-level BPE: tokenizers.decoders.ByteLevel())"
        )
    pending = [json.loads(decoder.__getstate__())]
    steps: list[dict[str, Any]] = []
    while pending:
        step = pending.pop()
        if step["type"] == "Sequence":
            pending.extend(reversed(step["decoders"]))
        else:
            steps.append(step)
    return steps


def _byte_pieces(model: Any) -> dict[int, bytes]:
    """The ids of ``<0x00>`` … ``<0xFF>``, in either case, with their bytes."""
    found: dict[int, bytes] = {}
    digits = "0123456789abcdefABCDEF"
    for high in digits:
        for low in digits:
            token = model.token_to_id(f"<0x{high}{low}>")
            if token is not None:
                found[token] = bytes.fromhex(high + low)
    return found


def _byte_level(points: CodePoints, starts: OffsetArray) -> tuple[BlobArray, OffsetArray]:
    """Bytes of pieces spelled in GPT-2's alphabet."""
    values = _BYTE_OF_CHARACTER[np.minimum(points, len(_BYTE_OF_CHARACTER) - 1)]
    blob = values.astype(np.uint8)
    foreign = np.flatnonzero(values < 0)
    if len(foreign) == 0:
        return blob, starts
    literal: dict[int, bytes] = {}
    for token in np.unique(np.searchsorted(starts, foreign, side="right") - 1).tolist():
        piece = points[starts[token] : starts[token + 1]]
        literal[token] = piece.tobytes().decode("utf-32-le").encode()
    return replace_tokens(blob, starts, literal, size=len(starts) - 1)


def _utf8(
    points: CodePoints, starts: OffsetArray, *, spaces: bool
) -> tuple[BlobArray, OffsetArray]:
    """Bytes of pieces spelled as text, ``▁`` read as a blank if ``spaces``."""
    if spaces:
        points = np.where(points == _METASPACE, np.uint32(0x20), points)
    ends = np.zeros(len(points) + 1, np.int64)
    widths = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    np.cumsum(widths, out=ends[1:])
    blob, _ = join_tokens([points.tobytes().decode("utf-32-le").encode()])
    return blob, ends[starts]
