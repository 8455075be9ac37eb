"""Named classes of the dialects: digits, word characters, white space, line terminators.

Python's are those of the running interpreter, asked of :mod:`re` itself; they are computed on
first use (20 ms each). ECMA-262's are constants; its ``\\w`` grows by two letters when case is
ignored, since K and S each fold with one letter outside of ASCII.
"""

from __future__ import annotations

from functools import cache

from ..regular import CharSet
from .case_folding import simple_folding
from .unicode_data import matching_characters

__all__ = [
    "ECMA_LINE_TERMINATORS",
    "PYTHON_LINE_TERMINATORS",
    "ecma_class",
    "python_class",
]

PYTHON_LINE_TERMINATORS = CharSet.single(0x0A)
ECMA_LINE_TERMINATORS = CharSet.of([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])

_ASCII_DIGIT = CharSet.of([(0x30, 0x39)])
_ASCII_WORD = CharSet.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_ASCII_SPACE = CharSet.of([(0x09, 0x0D), (0x20, 0x20)])
_ECMA_SPACE = CharSet.of(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
_PYTHON_ASCII = {"d": _ASCII_DIGIT, "w": _ASCII_WORD, "s": _ASCII_SPACE}
_ECMA = {"d": _ASCII_DIGIT, "w": _ASCII_WORD, "s": _ECMA_SPACE}


@cache
def python_class(letter: str, *, ascii: bool) -> CharSet:
    """The set of ``\\d \\D \\w \\W \\s \\S`` in a ``str`` pattern."""
    if letter.isupper():
        return python_class(letter.lower(), ascii=ascii).complement()
    return _PYTHON_ASCII[letter] if ascii else matching_characters(f"\\{letter}")


@cache
def ecma_class(letter: str, *, ignore_case: bool) -> CharSet:
    """The set of ``\\d \\D \\w \\W \\s \\S`` in an ECMA-262 pattern."""
    if letter.isupper():
        return ecma_class(letter.lower(), ignore_case=ignore_case).complement()
    characters = _ECMA[letter]
    return simple_folding().close(characters) if ignore_case else characters
