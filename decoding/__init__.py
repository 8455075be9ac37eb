"""Logits and masks to tokens: bitmask operations, samplers, the generation loop.

Nothing here imports torch or transformers before a function that needs them is called.
"""

from __future__ import annotations

from .bitmask import allocate_bitmask, apply_bitmask
from .generate import complete, generate, stream
from .result import Done, Event, Result, TextDelta, Trace
from .sampling import SamplingParams, sample

__all__ = [
    "Done",
    "Event",
    "Result",
    "SamplingParams",
    "TextDelta",
    "Trace",
    "allocate_bitmask",
    "apply_bitmask",
    "complete",
    "generate",
    "sample",
    "stream",
]
