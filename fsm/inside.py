"""Which tokens stay inside a JSON string, from a state of its automaton on.

One walk of the whole vocabulary, in preorder: a dead byte skips its subtree, and the arrays are
read strictly forwards, several times faster than following child ranges. The result is not a
row but a count for each token, 1 + the characters it begins (0 if it does not stay inside), so
that one walk serves every bound on the number of characters.

What a node's tokens get is noted by node and handed to tokens afterwards: whether a token ends
at a node is a branch that processors guess wrong every other time, and half of the cost.

All states inside a string have rows over byte classes; names that an undeclared key excludes
make no difference to what stays inside.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..jit import kernel
from . import layout as L
from .memory import Arena
from .trie import Trie

__all__ = ["InsideWalk", "row_of_counts"]


@kernel(
    "int64(int64[::1], int32[::1], uint8[::1], int64, uint8[::1], uint16[::1], int32[::1],"
    " int64[::1], int64[::1], int64[::1], uint16[::1])"
)
def _walk(codes, transitions, class_maps, state, byte, depth, end, offsets, maps, begun, counts):
    """Fill ``counts`` of nodes, which are 0 now -> how many nodes stay inside.

    Of the open node of depth ``d``: ``offsets[d]`` is where its row of transitions starts,
    ``maps[d]`` where its class map does, ``begun[d]`` the characters begun up to it.
    """
    # Unsigned indices need no look at whether they are negative.
    one = np.uint64(1)
    code = codes[state]
    offsets[0] = code >> L.CODE_ARGUMENT
    maps[0] = ((code >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK) * 256
    begun[0] = (code & L.FLAG_BOUNDARY) // L.FLAG_BOUNDARY
    total = 0
    node = np.uint64(0)
    while node < np.uint64(len(byte)):
        below = np.uint64(depth[node])
        above = below - one
        symbol = class_maps[np.uint64(maps[above]) + np.uint64(byte[node])]
        target = np.uint64(transitions[np.uint64(offsets[above]) + np.uint64(symbol)])
        code = codes[target]
        if target == np.uint64(L.STATE_DEAD) or code & L.FLAG_FINAL:
            node = np.uint64(end[node])
            continue
        so_far = begun[above]
        counts[node] = so_far + 1
        offsets[below] = code >> L.CODE_ARGUMENT
        maps[below] = ((code >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK) * 256
        begun[below] = so_far + (code & L.FLAG_BOUNDARY) // L.FLAG_BOUNDARY
        total += 1
        node += one
    return total


@kernel("void(uint16[::1], int32[::1], int32[::1], uint16[::1])")
def _hand_out(of_nodes, nodes, tokens, counts):
    for p in range(len(tokens)):
        counts[tokens[p]] = of_nodes[nodes[p]]


@kernel("int64(uint16[::1], int64, uint32[::1])")
def _row(counts, most, row):
    total = 0
    size = len(counts)
    for w in range(len(row)):
        bits = 0
        for i in range(min(32, size - 32 * w)):
            count = counts[32 * w + i]
            if 1 <= count <= most:
                bits |= 1 << i
                total += 1
        row[w] = bits
    return total


class InsideWalk:
    """The walk over one vocabulary, with its buffers. Guarded by the compiler's lock.

    Args:
        store: the store block, ``S_*``.
        trie: all text tokens.
        size: number of tokens.
    """

    def __init__(self, store: Arena, trie: Trie, size: int) -> None:
        self._store = store
        self._trie = trie
        self._size = size
        # The node at which the token at each place of ``trie.tokens`` ends.
        ends = np.arange(len(trie), dtype=np.int32)
        self._nodes = np.repeat(ends, trie.t1 - trie.t0[:-1])
        self._of_nodes = np.zeros(len(trie), np.uint16)
        self._path = tuple(np.empty(trie.max_depth + 1, np.int64) for _ in range(3))

    def counts(self, state: int) -> npt.NDArray[np.uint16]:
        """``uint16[size]`` of counts.

        ``state`` is at a character boundary inside a JSON string, and not an override.
        """
        self._walk(state)
        return self._hand_out()

    def counts_of_many(self, state: int, least: int) -> npt.NDArray[np.uint16] | None:
        """The same, or nothing if fewer than ``least`` prefixes of tokens stay inside."""
        return self._hand_out() if self._walk(state) >= least else None

    def _walk(self, state: int) -> int:
        store, trie = self._store, self._trie
        offsets, maps, begun = self._path
        self._of_nodes.fill(0)
        prefixes: int = _walk(
            store.array(L.S_CODE), store.array(L.S_TRANSITIONS), store.array(L.S_CLASS_MAPS),
            state, trie.byte, trie.depth, trie.end, offsets, maps, begun, self._of_nodes,
        )  # fmt: skip
        return prefixes

    def _hand_out(self) -> npt.NDArray[np.uint16]:
        counts = np.zeros(self._size, np.uint16)
        _hand_out(self._of_nodes, self._nodes, self._trie.tokens, counts)
        return counts

    @property
    def nbytes(self) -> int:
        trie = self._trie
        arrays = (trie.byte, trie.depth, trie.end, trie.t0, trie.t1, self._nodes, self._of_nodes)
        return sum(array.nbytes for array in arrays)


def row_of_counts(
    counts: npt.NDArray[np.uint16], most: int | None
) -> tuple[npt.NDArray[np.uint32], int]:
    """Mask row of the tokens that begin at most so many characters, and their number."""
    row = np.empty((len(counts) + 31) // 32, np.uint32)
    tokens = _row(counts, 0xFFFF if most is None else min(most + 1, 0xFFFF), row)
    return row, tokens
