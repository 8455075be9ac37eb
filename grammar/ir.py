"""The grammar IR: the narrow waist between front ends and the token FSM.

A :class:`Grammar` maps rule keys to expressions. Expressions are trees of frozen nodes over
*lexemes* (regular languages of bytes) and references to rules. There is no separate lexer:
a text belongs to the grammar if it can be split into lexemes at all (scannerless, no maximal
munch), so ambiguity is normal.

Rules are looked up lazily, one at a time, when a parse first reaches them: a front end may
compute ``rule(key)`` on demand, and a grammar may have infinitely many rules (each counted
repetition of a long array is its own). In return a front end guarantees

* ``rule`` is a pure function of its key, and equal keys mean equal languages;
* every rule it hands out *matches something*: no unproductive rule is reachable. This is what
  rules out dead ends, and only the front end can know it without expanding everything;
* no rule is left-recursive, not even through nullable items. :mod:`maskwright.grammar.recursion`
  rewrites a finite grammar so that both hold.

Lexemes never need to be non-empty; the FSM takes nullable ones apart.

Rejected: a single big automaton (no recursion), context-free rules down to bytes (loses the
regular structure that masks are shared by), a token-level IR (grammar would know the tokenizer).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from .automata.dfa import CharDFA

__all__ = [
    "NOTHING",
    "Captured",
    "Chain",
    "ChainItem",
    "Choice",
    "CountedString",
    "Expr",
    "Grammar",
    "Key",
    "Literal",
    "Ref",
    "Repeat",
    "Sequence",
    "StringLexeme",
    "TextLexeme",
    "UndeclaredKey",
]

Key: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TextLexeme:
    """Text of a regular language, written as UTF-8."""

    language: CharDFA


@dataclass(frozen=True, slots=True)
class StringLexeme:
    """A JSON string, quotes included, whose decoded value is in a regular language.

    Spellings of a character: itself (unless it must be escaped), its two-character escape if
    it has one, and ``\\uXXXX`` (a surrogate pair above FFFF) unless it is printable ASCII.
    """

    language: CharDFA


@dataclass(frozen=True, slots=True)
class CountedString:
    """A JSON string, quotes included, of ``min`` to ``max`` characters (``None``: unbounded).

    The characters are any (every JSON spelling, printable ASCII escapes included). Compiled
    with a counter, so that the bounds cost nothing however large they are.
    """

    min: int = 0
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """Here the text goes on as the JSON value just before it says.

    A text gets past it by :meth:`Grammar.after_value` of its key only. Must be the last item of a
    rule, after one item that is a JSON value.

    Attributes:
        is_endless: whichever value it was, a further one can follow.
    """

    key: Key
    is_endless: bool


@dataclass(frozen=True, slots=True)
class UndeclaredKey:
    """A JSON string, quotes included, whose value is none of ``declared``.

    Spellings as in :class:`StringLexeme`.
    """

    declared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after the other; no items match the empty text."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options (at least one)."""

    options: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``min`` to ``max`` items (``None``: unbounded) with ``separator`` between them.

    Compiled one repetition at a time, when a parse gets there.
    """

    item: Expr
    min: int
    max: int | None
    separator: Expr = Sequence(())


@dataclass(frozen=True, slots=True)
class ChainItem:
    expr: Expr
    required: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Items in this order, those not required may be missing, then ``rest`` any number of times.

    ``separator`` stands between any two items that are present: the members of an object.
    """

    items: tuple[ChainItem, ...]
    separator: Expr
    rest: Expr | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """The text of another rule."""

    key: Key


Expr: TypeAlias = (
    Literal
    | TextLexeme
    | StringLexeme
    | CountedString
    | UndeclaredKey
    | Captured
    | Sequence
    | Choice
    | Repeat
    | Chain
    | Ref
)

NOTHING = Sequence(())


class Grammar(ABC):
    """Rules by key, and where to start.

    Attributes:
        captures: whether any rule has a :class:`Captured`.
    """

    start: Key
    captures: bool = False

    @abstractmethod
    def rule(self, key: Key) -> Expr:
        """The body of a rule, computed on first use. Raises ``KeyError`` for unknown keys."""

    def after_value(self, key: Key, text: bytes | None) -> Key:
        """The rule that follows a :class:`Captured`.

        Args:
            key: its key.
            text: the JSON text of the value before it; ``None`` for the rule after a value that
                differs from all that matter.
        """
        raise KeyError(key)
