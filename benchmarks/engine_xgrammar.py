"""XGrammar with the semantics of the specification: any whitespace, additional properties.

The compiler keeps its defaults (threads, cache of rules across schemas), except that the cache is
bounded: unbounded, it takes all memory on a long run.
"""

from __future__ import annotations

from typing import Any

from engine_api import Session, new_bitmask
from tokenizer_file import TokenizerFile
from transformers import PreTrainedTokenizerFast
from xgrammar import CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo

__all__ = ["build"]

_CACHE_BYTES = 2 << 30


class _Grammar:
    def __init__(self, compiled: CompiledGrammar, engine: _Engine) -> None:
        self._compiled = compiled
        self._bits = engine.bits

    def start(self) -> Session:
        matcher = GrammarMatcher(self._compiled)
        fill = matcher.fill_next_token_bitmask
        bits = self._bits

        def mask() -> None:
            if not fill(bits, 0):
                bits.fill(-1)  # False means that every token is allowed

        return Session(mask=mask, commit=matcher.accept_token)


class _Engine:
    wants_text = True

    def __init__(self, tokenizer: TokenizerFile) -> None:
        wrap: Any = PreTrainedTokenizerFast
        loaded = wrap(tokenizer_object=tokenizer.tokenizer)
        info = TokenizerInfo.from_huggingface(
            loaded, vocab_size=tokenizer.size, stop_token_ids=[tokenizer.eos_id]
        )
        self._compiler = GrammarCompiler(info, cache_limit_bytes=_CACHE_BYTES)
        self.bits = new_bitmask(info.vocab_size)

    def compile(self, schema: Any) -> _Grammar:
        compiled = self._compiler.compile_json_schema(
            schema, any_whitespace=True, strict_mode=False
        )
        return _Grammar(compiled, self)


def build(tokenizer: TokenizerFile) -> _Engine:
    """One compiler for the whole run."""
    return _Engine(tokenizer)
