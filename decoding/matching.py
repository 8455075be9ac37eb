"""What decoding needs of a compiled grammar: the narrow waist to the token FSM.

The classes of the ``fsm`` layer satisfy these protocols; so does any stand-in of a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

__all__ = ["Grammar", "GrammarCompiler", "Matcher", "TokenTable"]


class TokenTable(Protocol):
    """A vocabulary: ids and the bytes that they stand for."""

    @property
    def size(self) -> int: ...

    @property
    def eos_ids(self) -> Sequence[int]: ...

    def join(self, tokens: Iterable[int]) -> bytes: ...


class Matcher(Protocol):
    """One sequence's place in a grammar."""

    @property
    def is_done(self) -> bool: ...

    def fill_bitmask(self, bits: Any, row: int = 0) -> None: ...

    def accept(self, token: int) -> bool: ...

    def is_accepting(self) -> bool: ...


class Grammar(Protocol):
    """A compiled grammar, shared by any number of matchers."""

    @property
    def vocabulary(self) -> TokenTable: ...

    def matcher(self) -> Matcher: ...


class GrammarCompiler(Protocol):
    """Compiles for one vocabulary. Front ends that a version lacks are missing methods."""

    @property
    def vocabulary(self) -> TokenTable: ...
