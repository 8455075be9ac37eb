"""A tokenizer's vocabulary as the mask computation sees it: bytes, specials and an order.

A grammar is matched byte by byte, so a token is its exact bytes, which may be a part of a
UTF-8 character. Ids fall into three kinds, and only the first can appear inside text:

* text tokens: at least one byte. Tokens that were *added* to a tokenizer without being
  special are text (runs of blanks, HTML tags), and listed in ``added_tokens``;
* special tokens, the ends of a text (``eos_ids``) among them: no bytes, whatever their name.
  So are added tokens whose name says that they steer a model (``<think>``, ``<tool_call>``,
  ``<|fim_prefix|>``, ``<unused7>``), even where the tokenizer's file does not call them special:
  inside a string they would be read as markup. The same text stays spellable by ordinary tokens;
* holes and the padding of logits wider than the tokenizer: no bytes, never allowed.

All tokens share one ``blob``; the id lists are derived from it and checked by nobody later:
a ``Vocabulary`` is not to be modified. (The arrays stay writable only because compiled
kernels with fixed signatures take no read-only ones.) It may be used from many threads.

Set-up from a loaded tokenizer takes 0.12 s for 128,256 tokens, 0.10 s with the disk cache;
0.07 s of either is getting the strings out of the tokenizer. That part cannot be cached
soundly, for only the strings tell whether the tokenizer is still the same one; the order is
cached, under the hash of the bytes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np

from ..errors import VocabularyError
from .token_order import sort_tokens
from .tokenizers import TokenTable, read_tokenizer
from .tokenizers.table import MAX_SIZE, BlobArray, OffsetArray, join_tokens, replace_tokens
from .trie import MAX_TOKEN_BYTES
from .vocabulary_cache import ArrayCache, default_cache_directory

__all__ = ["Vocabulary"]

_CACHE_FORMAT = "order-1"
"""Part of every key: to be changed with the meaning of the cached arrays."""

_MARKER = re.compile(
    r"<[|\uff5c].*[|\uff5c]>|</?(?:think|mask|bbox|[a-z]+(?:_[a-z]+)+)>|<unused\d+>"
    r"|\[(?:multimodal|[A-Z]+(?:_[A-Z]+)*)\]",
    re.DOTALL,
)
"""Names of added tokens that steer a model instead of standing for text."""

_MIN_CACHED = 4_096
"""Vocabularies with fewer tokens are sorted faster than a file is opened."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vocabulary:
    """The tokens of one model; made by :meth:`from_tokenizer` or :meth:`from_tokens`.

    Attributes:
        size: number of logits columns; ids from the tokenizer's end up to it are padding.
        blob: ``uint8[total]``, the bytes of all text tokens.
        offsets: ``int64[size + 1]``; token ``t`` is ``blob[offsets[t]:offsets[t + 1]]``,
            empty for special tokens, holes and padding.
        eos_ids: the ids that end a text, at least one, the usual one first.
        special_ids: all ids that never stand for text, ``eos_ids`` included.
        special_tokens: the special tokens that have a name, name to id.
        added_tokens: text tokens that were added to the tokenizer's own, content to id.
        sorted_ids: ``int32[m]``, all text tokens by bytes, equal ones by id.
        encode: the tokenizer's own encoding, without special tokens around it; ``None`` if
            unknown. It may normalise the text or put a blank before it, and may read the
            name of a special token as that token: use :meth:`spell` to be exact.
        fingerprint: hex hash of all of the above but ``encode``.
    """

    size: int
    blob: BlobArray
    offsets: OffsetArray
    eos_ids: tuple[int, ...]
    special_ids: frozenset[int]
    special_tokens: Mapping[str, int]
    added_tokens: Mapping[str, int]
    sorted_ids: np.ndarray[tuple[int], np.dtype[np.int32]]
    encode: Callable[[str], list[int]] | None
    fingerprint: str

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        size: int | None = None,
        eos_ids: Iterable[SupportsIndex] | None = None,
        cache_dir: str | PathLike[str] | None = None,
        use_cache: bool = True,
    ) -> Vocabulary:
        """The vocabulary of a tokenizer that is already loaded.

        Args:
            tokenizer: a transformers fast tokenizer, a ``tokenizers.Tokenizer``, a
                ``tiktoken.Encoding``, a ``sentencepiece.SentencePieceProcessor``, or one of
                mistral_common (``MistralTokenizer``, ``Tekkenizer``).
            size: number of logits columns, for a model that pads them (wider: the rest is
                never allowed) or cuts them (narrower: ids from ``size`` on are dropped).
                Default: the tokenizer's highest id plus one.
            eos_ids: the ids that end a text. Default: the tokenizer's own end token, where
                it knows one, then its special tokens with well-known end names
                (``<|eot_id|>``, ``<|im_end|>``, ``<end_of_turn>``, …). A model's generation
                config may name more, e.g. ``model.generation_config.eos_token_id``.
            cache_dir: directory of the disk cache; default: the platform's cache directory.
            use_cache: whether to read and write the disk cache at all.

        Raises:
            VocabularyError: the tokenizer is of no supported kind or its tokens have no
                exact bytes; no end id is known; ``size`` or ``eos_ids`` are out of range.
        """
        return cls._build(
            read_tokenizer(tokenizer),
            size=size,
            eos_ids=eos_ids,
            cache=_cache(cache_dir) if use_cache else None,
        )

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | None],
        *,
        eos_ids: Iterable[SupportsIndex],
        special_ids: Iterable[SupportsIndex] = (),
        size: int | None = None,
        encode: Callable[[str], list[int]] | None = None,
    ) -> Vocabulary:
        """The vocabulary of a plain list of tokens.

        >>> vocabulary = Vocabulary.from_tokens([b"a", b"ab", None, b"</s>"], eos_ids=[3])
        >>> vocabulary.sorted_ids.tolist(), vocabulary.special_tokens["</s>"]
        ([0, 1], 3)

        Args:
            tokens: the bytes of each id; ``None`` or ``b""`` for a hole. What stands at an
                end or special id is only its name.
            eos_ids: the ids that end a text, at least one.
            special_ids: other ids that never stand for text.
            size: as for :meth:`from_tokenizer`; default ``len(tokens)``.
            encode: text to ids, if there is a tokenizer behind the list.

        Raises:
            VocabularyError: a token is not ``bytes``; an id or ``size`` is out of range.
        """
        for token, value in enumerate(tokens):
            if value is not None and not isinstance(value, bytes):
                raise VocabularyError(
                    f"token {token} is {type(value).__name__}; give bytes, or None for a hole"
                )
        ends = _ids(eos_ids, len(tokens), "eos_ids")
        special = frozenset((*ends, *_ids(special_ids, len(tokens), "special_ids")))
        blob, offsets = join_tokens(token or b"" for token in tokens)
        names = {t: (tokens[t] or b"").decode("utf-8", "replace") for t in sorted(special)}
        table = TokenTable(
            blob=blob,
            offsets=offsets,
            special_tokens={name: t for t, name in names.items() if name},
            special_ids=special,
            encode=encode,
        )
        return cls._build(table, size=size, eos_ids=ends, cache=None)

    @classmethod
    def _build(
        cls,
        table: TokenTable,
        *,
        size: int | None,
        eos_ids: Iterable[SupportsIndex] | None,
        cache: ArrayCache | None,
    ) -> Vocabulary:
        known = len(table.offsets) - 1
        size = known if size is None else _checked_size(size)
        if eos_ids is not None:
            ends = _ids(eos_ids, min(size, known), "eos_ids")
        else:
            ends = tuple(t for t in table.eos_ids if t < size)
        if not ends:
            raise VocabularyError(
                "no token is known to end a text; pass eos_ids=[…], as in the model's "
                f"generation config{_some_names(table.special_tokens)}"
            )
        markers = [t for name, t in table.added_tokens.items() if _MARKER.fullmatch(name)]
        special = frozenset(t for t in (*table.special_ids, *ends, *markers) if t < size)
        blob, offsets = replace_tokens(
            table.blob, table.offsets, dict.fromkeys(special, b""), size=size
        )
        longest = int(np.diff(offsets).max(initial=0))
        if longest > MAX_TOKEN_BYTES:
            token = int(np.diff(offsets).argmax())
            raise VocabularyError(
                f"token {token} has {longest} bytes; at most {MAX_TOKEN_BYTES} are supported"
            )
        named = {**table.special_tokens, **table.added_tokens}
        draft = cls(
            size=size,
            blob=blob,
            offsets=offsets,
            eos_ids=ends,
            special_ids=special,
            special_tokens=MappingProxyType({n: t for n, t in named.items() if t in special}),
            added_tokens=MappingProxyType(
                {n: t for n, t in table.added_tokens.items() if t < size and t not in special}
            ),
            sorted_ids=np.zeros(0, np.int32),
            encode=table.encode,
            fingerprint="",
        )
        content = blake2b(blob.data, digest_size=20)
        content.update(offsets.data)
        return replace(
            draft,
            sorted_ids=_sorted_ids(blob, offsets, content.hexdigest(), cache),
            fingerprint=_fingerprint(draft, content.digest()),
        )

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a text token; ``b""`` for every other id.

        Raises:
            VocabularyError: the id is outside ``0 .. size - 1``.
        """
        if not 0 <= token < self.size:
            raise VocabularyError(f"token id {token} is outside 0 .. {self.size - 1}")
        return self.blob[self.offsets[token] : self.offsets[token + 1]].tobytes()

    def join(self, tokens: Iterable[int]) -> bytes:
        """The bytes that the tokens spell together; special ones spell nothing."""
        return b"".join(map(self.token_bytes, tokens))

    def decode(self, tokens: Iterable[int]) -> str:
        """The text that the tokens spell, with U+FFFD for bytes that are not UTF-8."""
        return self.join(tokens).decode("utf-8", "replace")

    def spell(self, text: str) -> list[int] | None:
        """The tokens that the tokenizer itself would use for ``text`` inside a longer text.

        Unlike :attr:`encode`, the result spells exactly ``text``: where a tokenizer puts a
        blank before every text, the tokens are taken from behind another character.

        Returns:
            Token ids, or ``None`` if the tokenizer cannot spell the text as it is (it
            normalises it, takes a part of it for a special token) or is not known.
        """
        if self.encode is None:
            return None
        try:
            wanted = text.encode()
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8
            return None
        for before in ("", "\n", "\x02"):  # characters that hardly merge with what follows
            ids = self.encode(before + text)
            if before:
                skipped = self.encode(before)
                if ids[: len(skipped)] != skipped:
                    continue
                ids = ids[len(skipped) :]
            if all(0 <= t < self.size for t in ids) and self.join(ids) == wanted:
                return None if self.special_ids.intersection(ids) else ids
        return None

    def __repr__(self) -> str:
        return (
            f"<Vocabulary {self.fingerprint[:12]}: {len(self.sorted_ids)} text tokens, "
            f"size {self.size}, eos_ids {self.eos_ids}>"
        )


def _cache(cache_dir: str | PathLike[str] | None) -> ArrayCache:
    directory = default_cache_directory() if cache_dir is None else Path(cache_dir)
    return ArrayCache(directory / "vocabulary")


def _checked_size(size: SupportsIndex) -> int:
    size = operator.index(size)
    if not 0 < size <= MAX_SIZE:
        raise VocabularyError(f"size is {size}; it must be in 1 .. {MAX_SIZE}")
    return size


def _ids(ids: Iterable[SupportsIndex], bound: int, what: str) -> tuple[int, ...]:
    """Ids as given, each once, checked to be integers below ``bound``."""
    try:
        result = tuple(dict.fromkeys(operator.index(t) for t in ids))
    except TypeError as error:
        raise VocabularyError(f"{what} must be a list of token ids: {error}") from None
    for token in result:
        if not 0 <= token < bound:
            raise VocabularyError(
                f"{what} has {token}; the vocabulary has the ids 0 .. {bound - 1}"
            )
    return result


def _some_names(special_tokens: Mapping[str, int]) -> str:
    """A few special tokens to choose from, for an error message."""
    if not special_tokens:
        return ""
    shown = ", ".join(f"{name!r}: {t}" for name, t in list(special_tokens.items())[:8])
    return f"; the special tokens are {shown}{', …' if len(special_tokens) > 8 else ''}"


def _sorted_ids(
    blob: BlobArray, offsets: OffsetArray, content: str, cache: ArrayCache | None
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """``sort_tokens``, from the cache if it has them; ``content`` is the tokens' hash."""
    if cache is None or len(offsets) <= _MIN_CACHED:
        return sort_tokens(blob, offsets)
    key = f"{_CACHE_FORMAT}-{content}"
    entry = cache.load(key, "sorted_ids")
    if entry is not None:
        ids = entry["sorted_ids"]
        # The file's checksum held; this catches a file that was never ours.
        present = np.count_nonzero(np.diff(offsets))
        if ids.dtype == np.int32 and ids.shape == (present,):
            return ids
    ids = sort_tokens(blob, offsets)
    cache.store(key, {"sorted_ids": ids})
    return ids


def _fingerprint(vocabulary: Vocabulary, content: bytes) -> str:
    """Hash of the tokens' hash and of everything else that masks can depend on."""
    rest = (
        vocabulary.size,
        vocabulary.eos_ids,
        sorted(vocabulary.special_ids),
        sorted(vocabulary.special_tokens.items()),
        sorted(vocabulary.added_tokens.items()),
    )
    return blake2b(content + repr(rest).encode(), digest_size=20).hexdigest()
