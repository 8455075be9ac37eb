"""Tokens of a ``sentencepiece.SentencePieceProcessor``.

A piece spells its UTF-8 with ``▁`` for a blank, a byte piece ``<0xXX>`` spells that byte.
The blank that most models put before a text (``add_dummy_prefix``) is part of the first
piece's bytes here: sentencepiece drops it only at the start of a text.
"""

from __future__ import annotations

from typing import Any

from .table import TokenTable, end_ids_by_name, join_tokens

__all__ = ["read_sentencepiece"]


def read_sentencepiece(processor: Any) -> TokenTable:
    """Read a processor.

    Control pieces (``<s>``, ``</s>``), the unknown piece and unused ones are special;
    user-defined pieces are text. ``eos_ids`` is the model's own end piece, then control
    pieces with names known to end a turn.
    """
    ids = list(range(processor.get_piece_size()))
    pieces: list[str] = processor.id_to_piece(ids)
    special_ids = frozenset(
        token
        for flags in (
            processor.is_control(ids),
            processor.is_unknown(ids),
            processor.is_unused(ids),
        )
        for token, flag in enumerate(flags)
        if flag
    )
    tokens = "\0".join(pieces).replace("▁", " ").encode().split(b"\0")
    if len(tokens) != len(pieces):  # a piece holds the separator itself
        tokens = [piece.replace("▁", " ").encode() for piece in pieces]
    for token, flag in enumerate(processor.is_byte(ids)):
        if flag:
            tokens[token] = bytes.fromhex(pieces[token][3:5])
    blob, offsets = join_tokens(tokens)
    special_tokens = {pieces[token]: token for token in sorted(special_ids)}
    own_end = processor.eos_id()
    end = (own_end,) if own_end >= 0 else ()

    def encode(text: str) -> list[int]:
        ids: list[int] = processor.encode(text, out_type=int, add_bos=False, add_eos=False)
        return ids

    return TokenTable(
        blob=blob,
        offsets=offsets,
        special_tokens=special_tokens,
        special_ids=special_ids,
        eos_ids=tuple(dict.fromkeys((*end, *end_ids_by_name(special_tokens)))),
        encode=encode,
    )
