"""Texts against a grammar one byte at a time: the tokens are the bytes."""

from __future__ import annotations

from maskwright import Vocabulary
from maskwright.fsm.token_fsm import TokenFSM

__all__ = ["BYTES", "accepts"]

BYTES = Vocabulary.from_tokens([bytes([i]) for i in range(256)] + [b"<eos>"], eos_ids=[256])


def accepts(fsm: TokenFSM, text: str) -> bool:
    """Whether a text is allowed to its end."""
    matcher = fsm.matcher()
    data = text.encode()
    return matcher.accept_all(list(data)) == len(data) and matcher.is_accepting()
