"""llguidance in its fastest form from Python.

The mask goes straight into our array through ``unsafe_compute_mask_ptr`` (what the package's
``fill_next_token_bitmask`` calls after its checks), the whitespace is its default (flexible),
and its default vocabulary slices are on.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from engine_api import Session, new_bitmask
from llguidance import LLMatcher, LLTokenizer
from tokenizer_file import TokenizerFile

__all__ = ["build"]


class _Grammar:
    def __init__(self, matcher: LLMatcher, engine: _Engine) -> None:
        self.matcher = matcher
        self._address = engine.bits.ctypes.data
        self._length = engine.bits.nbytes

    def start(self) -> Session:
        matcher = self.matcher.deep_copy()
        return Session(
            mask=partial(matcher.unsafe_compute_mask_ptr, self._address, self._length),
            commit=matcher.consume_token,
        )


class _Engine:
    wants_text = True

    def __init__(self, tokenizer: TokenizerFile) -> None:
        self._tokenizer = LLTokenizer(tokenizer.text, eos_token=tokenizer.eos_id)
        self.bits = new_bitmask(self._tokenizer.vocab_size)

    def compile(self, schema: Any) -> _Grammar:
        # log_level 0: warnings about schemas would otherwise be printed.
        matcher = LLMatcher(
            self._tokenizer, LLMatcher.grammar_from_json_schema(schema), log_level=0
        )
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return _Grammar(matcher, self)


def build(tokenizer: TokenizerFile) -> _Engine:
    """One tokenizer for the whole run."""
    return _Engine(tokenizer)
