"""Tokens of a ``tiktoken.Encoding``: its ranks *are* byte strings."""

from __future__ import annotations

from typing import Any

from .table import TokenTable, end_ids_by_name, join_tokens

__all__ = ["read_tiktoken"]


def read_tiktoken(encoding: Any) -> TokenTable:
    """Read an encoding; ids between its tokens that it does not know are holes.

    An encoding does not say which special token ends a text: ``eos_ids`` are those with
    names known for it, ``<|endoftext|>`` and ``<|return|>`` in the public ones.
    """
    special_tokens = {
        name: int(encoding.encode_single_token(name))
        for name in sorted(encoding.special_tokens_set)
    }
    special_ids = frozenset(special_tokens.values())
    single = encoding.decode_single_token_bytes
    tokens: list[bytes] = []
    for token in range(encoding.n_vocab):
        try:
            tokens.append(single(token))
        except KeyError:
            tokens.append(b"")
    blob, offsets = join_tokens(tokens)
    return TokenTable(
        blob=blob,
        offsets=offsets,
        special_tokens=special_tokens,
        special_ids=special_ids,
        eos_ids=end_ids_by_name(special_tokens),
        encode=encoding.encode_ordinary,
    )
