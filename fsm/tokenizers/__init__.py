"""Tokenizers of every supported kind, read into one :class:`TokenTable`.

One module a family. A tokenizer is recognised by the module and name of its class and is
only used through the object the caller already has, so none of these packages is imported
(or needed) here.
"""

from __future__ import annotations

from typing import Any

from ...errors import VocabularyError
from .huggingface import read_fast_tokenizer, read_raw_tokenizer
from .sentencepiece import read_sentencepiece
from .table import TokenTable
from .tekken import read_tekken
from .tiktoken import read_tiktoken

__all__ = ["TokenTable", "read_tokenizer"]

SUPPORTED = (
    "a transformers fast tokenizer, a tokenizers.Tokenizer, a tiktoken.Encoding, a "
    "sentencepiece.SentencePieceProcessor or a mistral_common tokenizer; for anything else "
    "list the tokens' bytes and use Vocabulary.from_tokens"
)


def _is_a(tokenizer: Any, package: str, *names: str) -> bool:
    """Whether a class of ``package`` with one of the names is among the object's classes."""
    return any(
        cls.__name__ in names and cls.__module__.partition(".")[0] == package
        for cls in type(tokenizer).__mro__
    )


def read_tokenizer(tokenizer: Any) -> TokenTable:
    """The bytes and special tokens of any supported tokenizer.

    Raises:
        VocabularyError: the object is of no supported kind, or its tokens have no exact
            bytes of their own.
    """
    if _is_a(tokenizer, "tokenizers", "Tokenizer"):
        return read_raw_tokenizer(tokenizer)
    if _is_a(tokenizer, "tokenizers", "BaseTokenizer"):  # the package's ready-made wrappers
        return read_raw_tokenizer(tokenizer._tokenizer)
    if _is_a(tokenizer, "tiktoken", "Encoding"):
        return read_tiktoken(tokenizer)
    if _is_a(tokenizer, "sentencepiece", "SentencePieceProcessor"):
        return read_sentencepiece(tokenizer)
    if _is_a(tokenizer, "mistral_common", "Tekkenizer"):
        return read_tekken(tokenizer)
    if _is_a(tokenizer, "mistral_common", "SentencePieceTokenizer"):
        return read_sentencepiece(tokenizer._model)
    if _is_a(tokenizer, "mistral_common", "MistralTokenizer"):
        return read_tokenizer(tokenizer.instruct_tokenizer.tokenizer)
    if _is_a(tokenizer, "transformers", "MistralCommonBackend", "MistralCommonTokenizer"):
        return read_tokenizer(tokenizer.tokenizer)
    if _is_a(tokenizer, "transformers", "PreTrainedTokenizerBase"):
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if _is_a(backend, "tokenizers", "Tokenizer"):
            return read_fast_tokenizer(tokenizer, backend)
        raise VocabularyError(
            f"{type(tokenizer).__name__} is a slow tokenizer, which does not tell its tokens' "
            "bytes; load the fast one (AutoTokenizer.from_pretrained(…, use_fast=True))"
        )
    kind = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    raise VocabularyError(f"cannot read a vocabulary from {kind}; give {SUPPORTED}")
