"""A tokenizer as the benchmarks need it: its JSON, its end token, its tokens' bytes, its encoding.

Everything is read from one folder (``tokenizer.json`` and, if there, ``tokenizer_config.json``),
so every engine is built from the same facts. None of this is timed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

__all__ = ["DEFAULT_DATA", "TokenizerFile", "find_tokenizer"]

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# End tokens by name, for tokenizer folders without a configuration.
_END_TOKENS = ("<|eot_id|>", "<|im_end|>", "<|return|>", "<eos>", "</s>", "<|endoftext|>")
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_level_alphabet() -> dict[str, int]:
    """The characters that byte-level BPE writes for the 256 bytes.

    Printable Latin-1 characters stand for themselves; the other bytes, in order, are shifted to
    U+0100 and up.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    alphabet.update({chr(0x100 + rank): byte for rank, byte in enumerate(others)})
    return alphabet


@dataclass(frozen=True)
class TokenizerFile:
    """One loaded tokenizer.

    Attributes:
        name: the folder's name.
        path: its ``tokenizer.json``.
        tokenizer: the loaded tokenizer.
        eos_id: the token that ends a text.
    """

    name: str
    path: Path
    tokenizer: Any
    eos_id: int

    @staticmethod
    def load(path: Path) -> TokenizerFile:
        """Load a ``tokenizer.json`` or a folder that holds one."""
        file = path / "tokenizer.json" if path.is_dir() else path
        tokenizer = Tokenizer.from_file(str(file))
        names: list[str] = []
        config = file.with_name("tokenizer_config.json")
        if config.is_file():
            declared = json.loads(config.read_text("utf-8")).get("eos_token")
            if isinstance(declared, dict):
                declared = declared.get("content")
            if isinstance(declared, str):
                names.append(declared)
        for name in (*names, *_END_TOKENS):
            eos_id = tokenizer.token_to_id(name)
            if eos_id is not None:
                return TokenizerFile(file.parent.name, file, tokenizer, eos_id)
        raise SystemExit(f"{file}: no end token found; add a tokenizer_config.json with eos_token")

    @cached_property
    def text(self) -> str:
        """The JSON text of ``tokenizer.json``."""
        return self.path.read_text("utf-8")

    @cached_property
    def size(self) -> int:
        """One more than the largest token id."""
        vocabulary: dict[str, int] = self.tokenizer.get_vocab(with_added_tokens=True)
        return 1 + max(vocabulary.values())

    def encode(self, text: str) -> list[int]:
        """The tokens of ``text`` as they come in the middle of a conversation.

        Sentencepiece-style tokenizers put a space before the first token of a text; a model's
        answer has none. Encoding after a newline and dropping its tokens gives the same tokens
        without it.
        """
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        first = self.tokenizer.id_to_token(ids[0]) if ids else ""
        if first.startswith("▁") and not text.startswith((" ", "▁")):
            lead = self.tokenizer.encode("\n", add_special_tokens=False).ids
            both = self.tokenizer.encode("\n" + text, add_special_tokens=False).ids
            if both[: len(lead)] != lead:
                raise ValueError(f"{self.name} merges a newline with what follows it")
            ids = both[len(lead) :]
        return ids

    def token_bytes(self) -> dict[int, bytes]:
        """The bytes of every token that is text (special tokens are left out)."""
        special = {
            token_id
            for token_id, token in self.tokenizer.get_added_tokens_decoder().items()
            if token.special
        }
        vocabulary: dict[str, int] = self.tokenizer.get_vocab(with_added_tokens=True)
        added = set(self.tokenizer.get_added_tokens_decoder())
        byte_fallback = "<0x0A>" in vocabulary
        alphabet = _byte_level_alphabet()
        result: dict[int, bytes] = {}
        for piece, token_id in vocabulary.items():
            if token_id in special:
                continue
            byte_piece = _BYTE_PIECE.fullmatch(piece) if byte_fallback else None
            if byte_piece:
                result[token_id] = bytes([int(byte_piece[1], 16)])
            elif byte_fallback:
                result[token_id] = piece.replace("▁", " ").encode()
            elif token_id in added:
                result[token_id] = piece.encode()
            else:
                result[token_id] = bytes(alphabet[character] for character in piece)
        return result


def find_tokenizer(name_or_path: str, data: Path = DEFAULT_DATA) -> Path:
    """A path as it is, or a name such as ``llama3_1`` among the data's tokenizers."""
    for candidate in (Path(name_or_path), data / "tokenizers" / name_or_path):
        if candidate.is_file() or (candidate / "tokenizer.json").is_file():
            return candidate.resolve()
    raise SystemExit(f"no tokenizer.json at {name_or_path!r} or in {data / 'tokenizers'}")
