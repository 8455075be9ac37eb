"""The prefix tree of a set of tokens, as flat arrays in preorder.

A node stands for one distinct non-empty prefix of a token. Nodes are numbered in preorder
with children in byte order, which is the order in which sorted tokens first need them, so
one pass over the sorted tokens writes every array once and nothing is ever moved. Two facts
follow and carry every use:

* the subtree of node ``i`` is the index range ``i .. end[i] - 1``: a walk that rejects
  ``byte[i]`` goes on at ``end[i]``, without a stack;
* the tokens of a subtree are a range of the sorted tokens, ``tokens[t0[i]:t0[end[i]]]``:
  allowing or refusing all of them is one pass over neighbouring ints.

There is no root node: the empty prefix holds no token, and a walk starts at node 0 with
depth 1. A walk over automaton states keeps one state a depth (``states[depth[i]]``).

A breadth-first numbering with child ranges makes ``find the child for byte b`` cheaper but
needs a queue to walk; the preorder form reads its arrays strictly forwards. A node for every
distinct prefix is also the price: 274,520 nodes, 3.9 MiB, 30 ms for the 128,256 tokens of
Llama 3.1. Path compression would halve the nodes and add a branch to every step.
"""

# Kernels take arrays whose types stand in their signatures.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError
from ..jit import kernel

__all__ = ["MAX_TOKEN_BYTES", "Trie", "build_trie"]

MAX_TOKEN_BYTES = 65_535
"""Longest token, so that a depth fits ``uint16``; real ones stay below 1,000 bytes."""

_MAX_NODES = 2**31 - 2


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """A prefix tree with ``n`` nodes over ``m`` tokens; the arrays are not to be written to.

    Attributes:
        byte: ``uint8[n]``, the last byte of the prefix.
        depth: ``uint16[n]``, the length of the prefix, from 1.
        end: ``int32[n]``, index just after the node's subtree.
        t0: ``int32[n + 1]``, first position in ``tokens`` of the subtree; ``t0[n] == m``.
        t1: ``int32[n]``; ``tokens[t0[i]:t1[i]]`` end exactly at node ``i``.
        tokens: ``int32[m]``, token ids in byte order.
        max_depth: length of the longest token, 0 without tokens.
    """

    byte: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.uint16]
    end: npt.NDArray[np.int32]
    t0: npt.NDArray[np.int32]
    t1: npt.NDArray[np.int32]
    tokens: npt.NDArray[np.int32]
    max_depth: int

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.byte)


@kernel("void(uint8[::1], int64[::1], int32[::1], int32[::1])")
def _shared_prefixes(blob, offsets, tokens, shared):
    """``shared[p]`` = bytes that token ``p`` has in common with its predecessor."""
    for p in range(len(tokens)):
        if p == 0:
            shared[p] = 0
            continue
        i = offsets[tokens[p - 1]]
        j = offsets[tokens[p]]
        i_stop = offsets[tokens[p - 1] + 1]
        j_stop = offsets[tokens[p] + 1]
        count = 0
        while i < i_stop and j < j_stop and blob[i] == blob[j]:
            i += 1
            j += 1
            count += 1
        shared[p] = count


@kernel(
    "void(uint8[::1], int64[::1], int32[::1], int32[::1], int32[::1],"
    " uint8[::1], uint16[::1], int32[::1], int32[::1], int32[::1])"
)
def _fill(blob, offsets, tokens, shared, path, byte, depth, end, t0, t1):
    """Write the node arrays; ``path[d]`` is the open node of depth ``d + 1``."""
    node = 0
    open_depth = 0
    for p in range(len(tokens)):
        start = offsets[tokens[p]]
        length = offsets[tokens[p] + 1] - start
        while open_depth > shared[p]:
            open_depth -= 1
            end[path[open_depth]] = node
        while open_depth < length:
            byte[node] = blob[start + open_depth]
            depth[node] = open_depth + 1
            t0[node] = p
            t1[node] = p
            path[open_depth] = node
            open_depth += 1
            node += 1
        t1[path[open_depth - 1]] = p + 1
    while open_depth > 0:
        open_depth -= 1
        end[path[open_depth]] = node
    t0[node] = len(tokens)


def build_trie(
    blob: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    sorted_ids: npt.NDArray[np.int32],
) -> Trie:
    """The trie of the given tokens.

    Args:
        blob: ``uint8[total]``, the bytes of all tokens of the vocabulary.
        offsets: ``int64[size + 1]``; token ``t`` is ``blob[offsets[t]:offsets[t + 1]]``.
        sorted_ids: ``int32[m]``, the non-empty tokens to insert, by bytes; any subset of a
            vocabulary's order, equal tokens next to each other.

    Raises:
        VocabularyError: a token is empty or longer than :data:`MAX_TOKEN_BYTES`, or there are more
            prefixes than an ``int32`` can number.
    """
    tokens = np.ascontiguousarray(sorted_ids, dtype=np.int32)
    lengths = offsets[1:][tokens] - offsets[:-1][tokens]
    if len(tokens) and int(lengths.min()) == 0:
        raise VocabularyError("a token without bytes has no place in a trie")
    max_depth = int(lengths.max(initial=0))
    if max_depth > MAX_TOKEN_BYTES:
        culprit = int(tokens[int(lengths.argmax())])
        raise VocabularyError(
            f"token {culprit} has {max_depth} bytes; at most {MAX_TOKEN_BYTES} are supported"
        )
    shared = np.empty(len(tokens), np.int32)
    _shared_prefixes(blob, offsets, tokens, shared)
    n = int((lengths - shared).sum())
    if n > _MAX_NODES:
        raise VocabularyError(f"the tokens have {n} distinct prefixes; at most {_MAX_NODES} fit")
    byte = np.empty(n, np.uint8)
    depth = np.empty(n, np.uint16)
    end = np.empty(n, np.int32)
    t0 = np.empty(n + 1, np.int32)
    t1 = np.empty(n, np.int32)
    path = np.empty(max(max_depth, 1), np.int32)
    _fill(blob, offsets, tokens, shared, path, byte, depth, end, t0, t1)
    return Trie(byte=byte, depth=depth, end=end, t0=t0, t1=t1, tokens=tokens, max_depth=max_depth)
