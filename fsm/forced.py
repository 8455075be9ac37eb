"""Forced tokens: text that must come next, as the tokenizer itself would spell it.

A grammar often leaves only one continuation (a key, a bracket). Its bytes can be given to the
model without sampling, but a spelling that the tokenizer would not use moves the model off its
distribution. So the forced text is tokenized *together with* what stands before it and with
what may follow it: only the tokens on which all of these agree are forced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import layout as L

if TYPE_CHECKING:
    from .token_fsm import TokenFSM

__all__ = ["forced_tokens"]

_MAX_PROBES = 32


def forced_tokens(fsm: TokenFSM, node: int, before: Sequence[int]) -> list[int]:
    """Ids that every completion's canonical tokenization goes on with.

    Args:
        fsm: the grammar.
        node: where the sequence is.
        before: the last tokens of the sequence, the context of the tokenization.
    """
    vocabulary = fsm.vocabulary
    if vocabulary.encode is None:
        return []
    forced, after = fsm.forced_bytes(node)
    if not forced:
        return []
    context = _whole_characters(vocabulary.join(before))
    try:
        text = forced.decode()
    except UnicodeDecodeError:
        return []
    if context is None:
        return []
    agreed: list[int] | None = None
    for follower in _followers(fsm, after):
        tokens = vocabulary.spell(context + text + follower)
        if tokens is None or tokens[: len(before)] != list(before):
            return []
        candidate = tokens[len(before) :]
        if agreed is None:
            agreed = candidate
        else:
            same = 0
            while same < min(len(agreed), len(candidate)) and agreed[same] == candidate[same]:
                same += 1
            agreed = agreed[:same]
    if agreed is None:
        return []
    result: list[int] = []
    length = 0
    for token in agreed:
        length += len(vocabulary.token_bytes(token))
        if length > len(forced):
            break
        result.append(token)
    return result


def _whole_characters(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _followers(fsm: TokenFSM, node: int) -> list[str]:
    """Beginnings of what may stand after the forced text: nothing, and every next character."""
    followers = [""] if fsm.is_accepting(node) else []
    for byte in range(0x80):
        if fsm.step(node, byte) != L.CONFIG_DEAD:
            followers.append(chr(byte))
    if len(followers) > _MAX_PROBES:
        step = len(followers) / _MAX_PROBES
        followers = [followers[int(i * step)] for i in range(_MAX_PROBES)]
    return followers
