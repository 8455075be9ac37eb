"""Regular expressions as users write them, turned into trees of ``grammar.regular``.

* :mod:`.parser` is the pass over the text, :mod:`.python` and :mod:`.ecma` are the dialects;
* :mod:`.anchors` makes whole-text languages of patterns: full match and search;
* :mod:`.classes`, :mod:`.case_folding` and :mod:`.unicode_data` know sets of characters.
"""

from __future__ import annotations

from typing import Literal

from ...errors import GrammarError
from ..regular import Regular
from .anchors import matching_whole_text, matching_within_text
from .ecma import EcmaParser, ecma_modes
from .parser import PatternParser
from .python import PythonParser, python_modes

__all__ = ["Dialect", "fullmatch_language", "parse_regex", "search_language"]

Dialect = Literal["python", "ecma"]


def parse_regex(
    pattern: str,
    *,
    dialect: Dialect,
    flags: str = "",
    pointer: str | None = None,
    ordered: bool = False,
) -> Regular:
    """The tree of a pattern, anchors and lookarounds kept as nodes.

    Args:
        pattern: the text of the pattern.
        dialect: ``"python"`` (``re`` for ``str``) or ``"ecma"`` (ECMA-262, JSON Schema).
        flags: letters for the whole pattern: ``imsxa`` in Python, ``ims`` in ECMA-262.
        pointer: JSON Pointer of the pattern, for error messages.
        ordered: keep in which order a backtracking matcher tries alternatives and repeats.

    Raises:
        GrammarError: the pattern is not valid, or means something that is not regular; with
            line and column in the pattern.
    """
    if not isinstance(pattern, str):
        raise GrammarError(
            f"a pattern must be a string, not {type(pattern).__name__}", pointer=pointer
        )
    parser: PatternParser
    try:
        if dialect == "python":
            parser = PythonParser(pattern, python_modes(flags), pointer)
        elif dialect == "ecma":
            parser = EcmaParser(pattern, ecma_modes(flags), pointer)
        else:
            raise ValueError(f"unknown dialect {dialect!r}: use 'python' or 'ecma'")
    except ValueError as error:
        raise GrammarError(str(error), pointer=pointer) from None
    parser.ordered = ordered
    return parser.parse()


def fullmatch_language(
    pattern: str, *, dialect: Dialect, flags: str = "", pointer: str | None = None
) -> Regular:
    """The texts that the pattern matches as a whole, as :func:`re.fullmatch` does.

    Arguments and errors as for :func:`parse_regex`.
    """
    tree = parse_regex(pattern, dialect=dialect, flags=flags, pointer=pointer)
    return matching_whole_text(tree)


def search_language(
    pattern: str, *, dialect: Dialect, flags: str = "", pointer: str | None = None
) -> Regular:
    """The texts in which the pattern matches somewhere: the meaning of JSON Schema's ``pattern``.

    Arguments and errors as for :func:`parse_regex`.
    """
    tree = parse_regex(pattern, dialect=dialect, flags=flags, pointer=pointer)
    return matching_within_text(tree)
