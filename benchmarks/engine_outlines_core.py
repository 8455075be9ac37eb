"""outlines_core: the schema as one regular expression, indexed over the vocabulary at compile time.

Recursion and most composition are beyond it; its whitespace is the default (at most one blank).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from engine_api import Session, new_bitmask
from outlines_core import Guide, Index, Vocabulary
from outlines_core.json_schema import build_regex_from_schema
from tokenizer_file import TokenizerFile

__all__ = ["build"]


class _Grammar:
    def __init__(self, index: Index, engine: _Engine) -> None:
        self._index = index
        bits = engine.bits
        self._target = (bits.ctypes.data, bits.size, bits.itemsize)

    def start(self) -> Session:
        guide = Guide(self._index)
        return Session(
            mask=partial(guide.write_mask_into, *self._target),
            commit=partial(guide.advance, return_tokens=False),
        )


class _Engine:
    wants_text = True

    def __init__(self, tokenizer: TokenizerFile) -> None:
        ids: dict[bytes, list[int]] = {}
        for token_id, data in tokenizer.token_bytes().items():
            if data and token_id != tokenizer.eos_id:
                ids.setdefault(data, []).append(token_id)
        self._vocabulary = Vocabulary(tokenizer.eos_id, ids)
        self.bits = new_bitmask(tokenizer.size)

    def compile(self, schema: Any) -> _Grammar:
        return _Grammar(Index(build_regex_from_schema(schema), self._vocabulary), self)


def build(tokenizer: TokenizerFile) -> _Engine:
    """One vocabulary for the whole run."""
    return _Engine(tokenizer)
