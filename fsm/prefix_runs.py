"""Which states of a pattern begin a plain run of characters.

What matters for the tokens that stay inside a string is not what a pattern accepts from a state
on but how its texts may *begin*: its prefix closure. Patterns that look different, and different
positions of one pattern, often agree in it: "up to r more characters of a set" covers free
text, identifiers of bounded length, and unanchored patterns, whose every prefix can still
match. Such states share rows across patterns and grammars.

A state is an *unbounded run* if all states reachable from it go on on the same characters (a
greatest fixpoint), and a run of ``r`` if all its characters lead to runs of ``r - 1`` of the
same characters, or to states where nothing may follow. This is exact where it answers; some
runs are not recognised (a chain that needs merging first), and only cost a row of their own.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..grammar.automata.dfa import CharDFA
from ..grammar.regular import MAX_CODE_POINT, CharSet
from ..jit import kernel

__all__ = ["PrefixRuns"]

_UNKNOWN = -1
_UNBOUNDED = -2
_MAX_PASSES = 64


@kernel("void(int32[:, ::1], int32[::1], int32[::1], int32[::1], int64)")
def _runs(trans, live, runs, slots, passes):
    """Fill ``runs``: a length, ``_UNBOUNDED`` or ``_UNKNOWN``.

    ``live[q]`` becomes the first state that goes on on the same symbols as ``q``, found with the
    hash table ``slots``. States are numbered breadth first, so backwards passes settle acyclic
    parts at once.
    """
    count = len(trans)
    width = trans.shape[1]
    mask = len(slots) - 1
    for q in range(1, count):
        digest = 1
        for c in range(width):
            # 31 bits times 32 bits: nothing overflows, compiled or not.
            bit = 1 if trans[q, c] != 0 else 0
            digest = (((digest ^ bit) * 0x9E3779B1) >> 16) & 0x7FFFFFFF
        slot = digest & mask
        while slots[slot] != 0:
            c = 0
            while c < width and (trans[slots[slot], c] != 0) == (trans[q, c] != 0):
                c += 1
            if c == width:
                break
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slots[slot] = q
        live[q] = slots[slot]
    for q in range(count):
        runs[q] = _UNBOUNDED
    changed = True
    while changed:
        changed = False
        for q in range(count - 1, 0, -1):
            if runs[q] == _UNBOUNDED:
                ends = True
                for c in range(trans.shape[1]):
                    t = trans[q, c]
                    if t != 0:
                        ends = False
                        if live[t] != live[q] or runs[t] != _UNBOUNDED:
                            runs[q] = _UNKNOWN
                            changed = True
                            break
                if ends:
                    runs[q] = _UNKNOWN
                    changed = True
    changed = True
    while changed and passes > 0:
        changed = False
        passes -= 1
        for q in range(count - 1, 0, -1):
            if runs[q] == _UNKNOWN:
                length = 0
                for c in range(trans.shape[1]):
                    t = trans[q, c]
                    if t == 0:
                        continue
                    after = runs[t]
                    same = after >= 0 and (after == 0 or live[t] == live[q])
                    if not same or (length > 0 and length != after + 1):
                        length = -1
                        break
                    length = after + 1
                if length >= 0:
                    runs[q] = length
                    changed = True


class PrefixRuns:
    """The runs of a language's states: ``runs[q]`` is ``(characters, length)`` or ``None``.

    A length of ``None`` is unbounded. Sets of characters are made when they are asked for.
    """

    __slots__ = ("_characters", "_language", "_lengths", "_live")

    def __init__(self, language: CharDFA) -> None:
        count = len(language.trans)
        self._language = language
        self._live = np.zeros(count, np.int32)
        self._lengths = np.zeros(count, np.int32)
        slots = np.zeros(1 << (2 * count).bit_length(), np.int32)
        _runs(language.trans, self._live, self._lengths, slots, _MAX_PASSES)
        self._characters: dict[int, CharSet] = {}

    def __getitem__(self, state: int) -> tuple[CharSet, int | None] | None:
        length = int(self._lengths[state])
        if state == 0 or (length <= 0 and length != _UNBOUNDED):
            return None
        live = int(self._live[state])
        characters = self._characters.get(live)
        if characters is None:
            characters = _characters(self._language, self._language.trans[live] != 0)
            self._characters[live] = characters
        return characters, None if length == _UNBOUNDED else length


def _characters(language: CharDFA, symbols: npt.NDArray[np.bool_]) -> CharSet:
    ends = [*(language.cuts[1:] - 1).tolist(), MAX_CODE_POINT]
    ranges = zip(language.cuts.tolist(), ends, strict=True)
    member = symbols[language.interval_class].tolist()
    return CharSet.of(pair for pair, inside in zip(ranges, member, strict=True) if inside)
