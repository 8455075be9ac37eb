"""Named limits: every step that can explode stops here with a ``LimitError``.

The defaults are generous for real schemas and small enough that nothing hangs: each bounds
a table whose size is the time and memory of its step.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds of the compiler's tables.

    Attributes:
        nfa_states: states of one pattern's NFA after repeats are unrolled.
        dfa_states: states of one character automaton, during and after determinization, besides
            as many as its pattern, or the larger part of a product, has anyway.
        byte_states: states of one lexeme after lowering to bytes.
        configurations: parser configurations interned by one FSM.
        threads: parallel parses alive in one configuration.
        alternatives: pairs of alternatives combined for one JSON Schema.
        stack_depth: nesting of one text (continuations below the root).
    """

    nfa_states: int = 100_000
    dfa_states: int = 20_000
    byte_states: int = 1_000_000
    configurations: int = 2_000_000
    threads: int = 50_000
    alternatives: int = 20_000
    stack_depth: int = 100_000


DEFAULT_LIMITS = Limits()
