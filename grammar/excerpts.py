"""Errors in a grammar's text, shown where they are: line, column, the line itself and a caret."""

from __future__ import annotations

from ..errors import GrammarError

__all__ = ["error_at"]

_WIDTH = 80
"""Characters of a line that are shown; of longer lines, those around the place."""


def error_at(text: str, position: int, problem: str) -> GrammarError:
    """A :class:`GrammarError` that shows the place of a problem in a text.

    Args:
        text: the whole text.
        position: offset into it; its end is a place too.
        problem: what is wrong there, and what was expected or what to write instead.
    """
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    start = position - column + 1
    end = min((i for i in (text.find("\n", start), text.find("\r", start)) if i >= 0), default=-1)
    shown = text[start:] if end < 0 else text[start:end]
    offset = column - 1
    if len(shown) > _WIDTH:
        first = min(max(0, offset - _WIDTH // 2), len(shown) - _WIDTH)
        left, right = "…" * (first > 0), "…" * (first + _WIDTH < len(shown))
        shown = f"{left}{shown[first : first + _WIDTH]}{right}"
        offset += len(left) - first
    # Tabs stay, so that the caret stands below its character however wide they are shown.
    blanks = "".join("\t" if c == "\t" else " " for c in shown[:offset])
    margin = f"  {line} | "
    excerpt = f"{margin}{shown}\n{'| '.rjust(len(margin))}{blanks}^"
    return GrammarError(problem, line=line, column=column, excerpt=excerpt)
