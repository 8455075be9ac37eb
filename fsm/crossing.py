"""Tokens that go on behind a captured value, see :mod:`.capturing`.

Candidates are the few tokens of a vocabulary in which a blank, comma, colon or bracket follows what
may be the end of a JSON value, as a trie. The walk steps nodes from Python: it is done once a node,
and only in grammars that capture values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from . import layout as L
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .token_fsm import TokenFSM

__all__ = ["Crossing", "CrossingTokens", "crossing"]

_COMMA: Final = ord(",")
_BLANKS: Final = b" \t\n\r"


@dataclass(slots=True)
class _Branch:
    """A trie of tokens."""

    tokens: list[int] = field(default_factory=list)
    children: dict[int, _Branch] = field(default_factory=dict)


class CrossingTokens:
    """The tokens in which a blank, comma or bracket follows what may be the end of a value."""

    _PATTERN = re.compile(rb'["}\]0-9el](?=[ \t\n\r,:\]])')

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.root = _Branch()
        blob = vocabulary.blob.tobytes()
        offsets = vocabulary.offsets.tolist()
        special = vocabulary.special_ids
        last = -1
        for match in self._PATTERN.finditer(blob):
            token = int(np.searchsorted(vocabulary.offsets, match.start(), "right")) - 1
            if token == last or match.end() >= offsets[token + 1] or token in special:
                continue
            last = token
            branch = self.root
            for byte in blob[offsets[token] : offsets[token + 1]]:
                branch = branch.children.setdefault(byte, _Branch())
            branch.tokens.append(token)


@dataclass(frozen=True, slots=True)
class Crossing:
    """What a configuration's mask has besides the engine's.

    Attributes:
        row: int32[words], all tokens that are allowed whatever the values are.
        doubtful: tokens that may be allowed.
    """

    row: npt.NDArray[np.int32]
    doubtful: tuple[int, ...]


def crossing(fsm: TokenFSM, node: int, root: _Branch, row: npt.NDArray[np.int32]) -> Crossing:
    """The mask of a node whatever the values are, given the engine's, and what is in doubt."""
    row = row.copy()
    doubtful: list[int] = []
    for before, branch in _barriers(fsm, node, root):
        after = fsm.resume(before, None)
        for token, is_sure in _behind(fsm, after, branch):
            if is_sure:
                row[token >> 5] |= np.int32(np.uint32(1 << (token & 31)).view(np.int32))
            else:
                doubtful.append(token)
    sure = [t for t in doubtful if not row[t >> 5] >> (t & 31) & 1]
    return Crossing(row, tuple(dict.fromkeys(sure)))


def _barriers(fsm: TokenFSM, node: int, branch: _Branch) -> Iterator[tuple[int, _Branch]]:
    """Where tokens go on behind a barrier: the node before it, and the rest of them."""
    pending = [(node, branch)]
    while pending:
        node, branch = pending.pop()
        for byte, child in branch.children.items():
            after = fsm.step(node, byte)
            if after != L.CONFIG_DEAD and child.children:
                if fsm.captures_at(after):
                    yield after, child
                pending.append((after, child))


def _behind(fsm: TokenFSM, node: int, branch: _Branch) -> Iterator[tuple[int, bool]]:
    """Tokens that go on from a node behind a barrier, and whether they are sure to be allowed."""
    is_endless = all(captured.is_endless for captured, _ in fsm.captures_at(node))
    pending: list[tuple[int, _Branch, bool, bool]] = [(node, branch, True, False)]
    while pending:
        node, branch, is_sure, is_next = pending.pop()
        for byte, child in branch.children.items():
            after = fsm.step(node, byte)
            if after == L.CONFIG_DEAD:
                continue
            sure, following = is_sure, is_next
            if following and byte not in _BLANKS:
                sure = False
            if byte == _COMMA:
                following = True
                sure = sure and is_endless
            if fsm.captures_at(after):
                sure = False
                after = fsm.resume(after, None)
            yield from ((token, sure) for token in child.tokens)
            pending.append((after, child, sure, following))
