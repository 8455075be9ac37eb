"""The four arrays of a character automaton, as they pass from step to step.

Representation, shared by all modules of this package::

    cuts            int32[k]   ascending, cuts[0] == 0; interval i is [cuts[i], cuts[i + 1]),
                               the last one ends after 10FFFF
    interval_class  int32[k]   interval -> symbol class
    trans           int32[n_states, n_classes]   next state; row 0 is all 0
    accepting       bool[n_states]

State 0 is dead (never accepting), state 1 is the start. The class of the surrogates
D800..DFFF leads to 0 from every state. In a *raw* table every state but 0 is reachable,
but some may be dead or equivalent and columns may be equal; :func:`.minimal.canonical` makes
the one canonical table of a language from it.

Arrays are shared freely between values and are never written after they were made. (They are
not marked read-only, because numba gives read-only arrays a type of their own.)
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_TABLE_ENTRIES", "BoolArray", "IntArray", "OffsetArray", "Table"]

IntArray: TypeAlias = NDArray[np.int32]
OffsetArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

MAX_TABLE_ENTRIES = 1 << 25
"""No transition table grows beyond this many entries (128 MiB), whatever its shape."""


class Table(NamedTuple):
    """An automaton as described in the module docstring."""

    cuts: IntArray
    interval_class: IntArray
    trans: IntArray
    accepting: BoolArray
