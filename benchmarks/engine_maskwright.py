"""Maskwright through its public interface."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine_api import Session
from tokenizer_file import TokenizerFile

import maskwright as mw
from maskwright.grammar.json_schema import JsonOptions

__all__ = ["build"]


class _Grammar:
    def __init__(self, fsm: Any, engine: _Engine) -> None:
        self.fsm = fsm
        self._bits = engine.bits

    def start(self) -> Session:
        matcher = self.fsm.matcher()
        return Session(mask=partial(matcher.fill_bitmask, self._bits, 0), commit=matcher.accept)


class _Engine:
    wants_text = False

    def __init__(self, tokenizer: TokenizerFile, options: JsonOptions | None) -> None:
        self._options = options
        vocabulary = mw.Vocabulary.from_tokenizer(tokenizer.tokenizer, eos_ids=[tokenizer.eos_id])
        self._compiler = mw.Compiler(vocabulary)
        self.bits = mw.allocate_bitmask(1, vocabulary.size)

    def compile(self, schema: Any) -> _Grammar:
        return _Grammar(self._compiler.json_schema(schema, options=self._options), self)


def build(tokenizer: TokenizerFile, options: JsonOptions | None = None) -> _Engine:
    """One compiler for the whole run, as a server would hold it."""
    return _Engine(tokenizer, options)
