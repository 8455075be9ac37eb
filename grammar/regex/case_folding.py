"""Case-insensitive matching: which characters count as the same, and closing sets under it.

Each notion is a partition of the characters; only the classes of two and more are stored:

* :func:`simple_folding`: ECMA-262 ``Canonicalize`` with the ``u`` flag, i.e. simple case
  folding (statuses C and S of the Unicode ``CaseFolding`` table);
* :func:`python_ignore_case`: :data:`re.IGNORECASE` for ``str``. Characters are the same if the
  uppercase of their lowercase is: so the four letters ``i`` with and without dot are one class;
* :func:`ascii_ignore_case`: the same with :data:`re.ASCII`.

All three are derived from the case mappings of ``str``, once, on first use (0.1 s).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from ..regular import CharSet
from .unicode_data import all_characters

__all__ = ["CasePartition", "ascii_ignore_case", "python_ignore_case", "simple_folding"]

_BLOCK = 256

# Simple foldings that Unicode 15.1 added between canonically equal letters; the ``str`` of an
# older Python knows only their full foldings.
_LATE_SIMPLE_FOLDINGS = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


class CasePartition:
    """Characters that match each other when case is ignored.

    ``_classes`` maps a code point to its whole class; code points alone in theirs are absent.
    ``_cased`` holds the keys in increasing order.
    """

    def __init__(self, classes: Iterable[Sequence[int]]) -> None:
        self._classes = {
            member: tuple(members) for members in classes if len(members) > 1 for member in members
        }
        self._cased = sorted(self._classes)

    def close(self, characters: CharSet) -> CharSet:
        """The set with every character that matches one of its members."""
        cased, classes = self._cased, self._classes
        added: list[tuple[int, int]] = []
        for first, last in characters.ranges:
            index = bisect_left(cased, first)
            while index < len(cased) and cased[index] <= last:
                added.extend((other, other) for other in classes[cased[index]])
                index += 1
        return CharSet.of((*characters.ranges, *added)) if added else characters


@cache
def simple_folding() -> CasePartition:
    """Simple case folding: full folding where that is one character, else simple lowercase."""

    def fold(character: str) -> str:
        folded = character.casefold()
        if len(folded) > 1:
            folded = _LATE_SIMPLE_FOLDINGS.get(character, character.lower())
        return folded if len(folded) == 1 else character

    return CasePartition(_classes_by(fold, unchanged=lambda block: block == block.casefold()))


@cache
def python_ignore_case() -> CasePartition:
    """What :data:`re.IGNORECASE` treats as the same in ``str`` patterns."""

    def key(character: str) -> str:
        # Only İ has a lowercase of two characters; its simple lowercase is the first of them.
        return character.lower()[0].upper()

    return CasePartition(
        _classes_by(key, unchanged=lambda block: block == block.lower() == block.upper())
    )


@cache
def ascii_ignore_case() -> CasePartition:
    """The 26 pairs of ASCII letters."""
    return CasePartition((code, code + 32) for code in range(ord("A"), ord("Z") + 1))


def _classes_by(key: Callable[[str], str], *, unchanged: Callable[[str], bool]) -> list[list[int]]:
    """Group the characters by key, looking only at blocks that have any case.

    A block in which nothing is ``unchanged`` has keys equal to its characters; such a character
    still joins the class of which it is the key.
    """
    groups: dict[str, list[int]] = {}
    characters = all_characters()
    for start in range(0, len(characters), _BLOCK):
        block = characters[start : start + _BLOCK]
        if not unchanged(block):
            for character in block:
                groups.setdefault(key(character), []).append(ord(character))
    for representative, members in groups.items():
        if len(representative) == 1 and ord(representative) not in members:
            members.append(ord(representative))
    return list(groups.values())
