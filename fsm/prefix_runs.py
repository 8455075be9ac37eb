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

from ..grammar.automata.dfa import CharDFA
from ..grammar.regular import MAX_CODE_POINT, CharSet
from ..jit import kernel

__all__ = ["prefix_runs"]

_UNKNOWN = -1
_UNBOUNDED = -2
_MAX_PASSES = 64


@kernel("void(int32[:, ::1], int64[::1], int64[::1], int64)")
def _runs(trans, live, runs, passes):
    """Fill ``runs``: a length, ``_UNBOUNDED`` or ``_UNKNOWN``.

    ``live[q]`` numbers the set of symbols on which state ``q`` goes on. States are numbered
    breadth first, so backwards passes settle acyclic parts at once.
    """
    count = len(trans)
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


def prefix_runs(language: CharDFA) -> list[tuple[CharSet, int | None] | None]:
    """For each state its characters and length (``None``: unbounded), or ``None`` if no run."""
    trans = language.trans
    goes_on = trans != 0
    sets: dict[bytes, int] = {}
    live = np.array([sets.setdefault(row.tobytes(), len(sets)) for row in goes_on], np.int64)
    runs = np.empty(len(trans), np.int64)
    _runs(trans, live, runs, _MAX_PASSES)
    characters = [_characters(language, np.frombuffer(symbols, np.bool_)) for symbols in sets]
    result: list[tuple[CharSet, int | None] | None] = []
    for which, length in zip(live.tolist(), runs.tolist(), strict=True):
        if length == _UNBOUNDED:
            result.append((characters[which], None))
        else:
            result.append((characters[which], length) if length > 0 else None)
    result[0] = None
    return result


def _characters(language: CharDFA, symbols: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> CharSet:
    ends = [*(language.cuts[1:] - 1).tolist(), MAX_CODE_POINT]
    ranges = zip(language.cuts.tolist(), ends, strict=True)
    member = symbols[language.interval_class].tolist()
    return CharSet.of(pair for pair, inside in zip(ranges, member, strict=True) if inside)
