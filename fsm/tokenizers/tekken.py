"""Tokens of Mistral's tekken: byte strings after a block of special tokens."""

from __future__ import annotations

from typing import Any

from .table import TokenTable, end_ids_by_name, join_tokens

__all__ = ["read_tekken"]


def read_tekken(tokenizer: Any) -> TokenTable:
    """Read a ``Tekkenizer``; ids below ``num_special_tokens`` are special, reserved or not.

    The end of a text is ``</s>``, under which tekken's own ``eos_id`` looks it up as well.
    """
    specials = range(tokenizer.num_special_tokens)
    # The public accessor of text tokens; special ones give empty bytes by default.
    blob, offsets = join_tokens(map(tokenizer.id_to_byte_piece, range(tokenizer.n_words)))
    special_tokens = {tokenizer.id_to_piece(token): token for token in specials}
    return TokenTable(
        blob=blob,
        offsets=offsets,
        special_tokens=special_tokens,
        special_ids=frozenset(specials),
        eos_ids=end_ids_by_name(special_tokens),
        encode=lambda text: list(tokenizer.encode(text, bos=False, eos=False)),
    )
