"""Whitespace and punctuation as few shared lexemes.

Blanks are folded into the punctuation they follow or precede, so that a text has one lexeme
where a naive grammar has three. The lexemes of a mode are made once and shared by all grammars:
whatever is known about them (masks, edges) is known for every schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ..automata.dfa import CharDFA
from ..ir import Expr, Literal, TextLexeme
from ..regular import Regular, chars, concat, repeat, text, union
from .options import FLEXIBLE_RUN, INDENT_LIMIT, WhitespaceMode

__all__ = ["Punctuation", "punctuation"]


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The structural tokens of one whitespace mode, blanks included.

    Attributes:
        open_object, close_object, open_array, close_array: with the blanks inside.
        comma: between members or items.
        key_has_colon: whether the colon belongs to a key's literal (no blanks before it).
        after_key: what follows a key with its colon, if that is how keys are written, else
            what follows any key.
        colon: what follows a key without a colon of its own.
        after_value: what follows a member's value or an item.
        around: before and after the whole text.
    """

    open_object: Expr
    close_object: Expr
    open_array: Expr
    close_array: Expr
    comma: Expr
    key_has_colon: bool
    after_key: Expr | None
    colon: Expr
    after_value: Expr | None = None
    around: Expr | None = None


@cache
def punctuation(mode: WhitespaceMode) -> Punctuation:
    """The lexemes of a mode; they depend on nothing else, so they are made once a process."""
    if mode == "compact":
        return Punctuation(
            open_object=Literal(b"{"),
            close_object=Literal(b"}"),
            open_array=Literal(b"["),
            close_array=Literal(b"]"),
            comma=Literal(b","),
            key_has_colon=True,
            after_key=None,
            colon=Literal(b":"),
        )
    if mode == "flexible":
        # Blanks always follow something, never precede: two runs are never adjacent, so each
        # blank has one parse and a run's bound is a bound.
        blank = repeat(chars((9, 10), (13, 13), (32, 32)), 0, FLEXIBLE_RUN)
        colon = _lexeme(blank, text(":"), blank)
        return Punctuation(
            open_object=_lexeme(text("{"), blank),
            close_object=Literal(b"}"),
            open_array=_lexeme(text("["), blank),
            close_array=Literal(b"]"),
            comma=_lexeme(text(","), blank),
            key_has_colon=False,
            after_key=colon,
            colon=colon,
            after_value=_lexeme(blank),
            around=_lexeme(blank),
        )
    newline = concat((text("\n"), repeat(chars((9, 9), (32, 32)), 0, INDENT_LIMIT)))
    inside = repeat(newline, 0, 1)
    space = repeat(text(" "), 0, 1)
    if mode == "indented":
        # Optional at the brackets, as empty objects and arrays stay on one line.
        return Punctuation(
            open_object=_lexeme(text("{"), inside),
            close_object=_lexeme(inside, text("}")),
            open_array=_lexeme(text("["), inside),
            close_array=_lexeme(inside, text("]")),
            comma=_lexeme(text(","), newline),
            key_has_colon=True,
            after_key=Literal(b" "),
            colon=Literal(b": "),
        )
    return Punctuation(
        open_object=_lexeme(text("{"), inside),
        close_object=_lexeme(inside, text("}")),
        open_array=_lexeme(text("["), inside),
        close_array=_lexeme(inside, text("]")),
        comma=_lexeme(text(","), repeat(union((text(" "), newline)), 0, 1)),
        key_has_colon=True,
        after_key=_lexeme(space),
        colon=_lexeme(text(":"), space),
    )


def _lexeme(*pieces: Regular) -> TextLexeme:
    return TextLexeme(CharDFA.from_regular(concat(pieces)))
