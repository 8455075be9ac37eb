"""Compilers kept between calls: one for each tokenizer and model shape."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from ..errors import VocabularyError
from .matching import GrammarCompiler

__all__ = ["CompilerCache", "compiler_for"]

_KEPT_GRAMMARS = 8
"""Schemas a compiler remembers between calls that nobody uses meanwhile."""


class CompilerCache:
    """The most recently used compilers, each with its tokenizer.

    A compiler holds masks and automata worth keeping between calls of ``generate``; whoever
    wants full control passes ``compiler=`` and never touches this. A compiler refers to its
    tokenizer, so weak references to tokenizers would never die: the cache is small instead.

    Args:
        capacity: how many compilers (and tokenizers) it keeps alive.
    """

    def __init__(self, capacity: int = 4) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[tuple[Any, ...], tuple[Any, GrammarCompiler]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tokenizer: Any, *, size: int, end_ids: tuple[int, ...]) -> GrammarCompiler:
        """The compiler for a tokenizer, ``size`` logits and a model's own end tokens."""
        # The entry holds the tokenizer, so its id cannot be given to another object.
        key = (id(tokenizer), size, end_ids)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = (tokenizer, _build(tokenizer, size, end_ids))
                self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
            return entry[1]

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()


def _build(tokenizer: Any, size: int, end_ids: tuple[int, ...]) -> GrammarCompiler:
    from ..fsm.compiler import Compiler
    from ..fsm.vocabulary import Vocabulary

    named = tuple(token for token in end_ids if 0 <= token < size)
    try:
        vocabulary = Vocabulary.from_tokenizer(tokenizer, size=size)
    except VocabularyError:
        if not named:
            raise
        vocabulary = Vocabulary.from_tokenizer(tokenizer, size=size, eos_ids=named)
    if not set(named) <= set(vocabulary.eos_ids):
        ends = dict.fromkeys((*named, *vocabulary.eos_ids))
        vocabulary = Vocabulary.from_tokenizer(tokenizer, size=size, eos_ids=ends)
    compiler: GrammarCompiler = Compiler(vocabulary, keep=_KEPT_GRAMMARS)
    return compiler


compiler_for = CompilerCache().get
