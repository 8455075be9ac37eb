"""What the text may go on with: the only thing that a token leaves behind besides the grammar.

A lexer's match ends where it ends because of what comes next (see
:mod:`maskwright.grammar.automata.first_match`). So after a token the rest of the text is in some
regular language, its *context*: for a name, the texts that begin with no letter. The next token is
read within that context, and adds its own. Contexts are interned by their languages and numbered;
:data:`FREE` is the context of all texts.

Contexts only matter as far as something can come next that they forbid. :meth:`Contexts.relaxed`
forgets them where nothing can, which is nearly everywhere, and keeps the grammar small.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...limits import Limits
from ..automata.dfa import CharDFA
from ..automata.first_match import FirstMatch
from ..regular import ANY_TEXT, EMPTY, MAX_CODE_POINT, Chars, CharSet, concat, union

__all__ = ["FREE", "Contexts", "Step", "first_characters"]

FREE = 0
"""The context in which any text may follow."""

Step = tuple[CharDFA, int]
"""Texts of a token in some context, and the context after them."""


class Contexts:
    """The contexts of one grammar."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._rests: list[CharDFA] = [CharDFA.any_text()]
        self._numbers: dict[CharDFA, int] = {self._rests[0]: FREE}
        self._parts: dict[int, list[tuple[CharDFA, int | None]]] = {}
        self._relaxed: dict[tuple[int, CharSet, bool], int] = {}
        self._following: dict[tuple[CharSet, bool], CharDFA] = {}

    def number(self, rest: CharDFA | None) -> int | None:
        """The context in which the text goes on with one of these; ``None`` if with nothing."""
        if rest is None:
            return FREE
        if rest.is_empty:
            return None
        found = self._numbers.get(rest)
        if found is None:
            found = self._numbers[rest] = len(self._rests)
            self._rests.append(rest)
        return found

    def may_end(self, context: int) -> bool:
        """Whether the text may end in a context."""
        return self._rests[context].accepts("")

    def steps(self, context: int, matches: Iterable[FirstMatch]) -> list[Step]:
        """How a token with these matches can be read in a context.

        Raises:
            LimitError: ``dfa_states``.
        """
        found: dict[int, CharDFA] = {}
        for match in matches:
            for begin, after in self._split(context):
                language = match.language
                if begin is not None:
                    language = language.intersect(begin, limits=self._limits)
                    if language.is_empty:
                        continue
                following = self._both(after, match.rest)
                if following is None:
                    continue
                known = found.get(following)
                found[following] = (
                    language if known is None else known.union(language, limits=self._limits)
                )
        return [(language, following) for following, language in found.items()]

    def relaxed(self, context: int, first: CharSet, may_end: bool) -> int:
        """The context, or ``FREE`` if it allows all that can follow.

        Args:
            first: the characters that what follows can begin with.
            may_end: whether the text can end here.
        """
        if context == FREE:
            return FREE
        key = (context, first, may_end)
        found = self._relaxed.get(key)
        if found is None:
            is_free = self._texts(first, may_end).is_subset(self._rests[context])
            found = self._relaxed[key] = FREE if is_free else context
        return found

    # ------------------------------------------------------------------ languages

    def _split(self, context: int) -> list[tuple[CharDFA | None, int]]:
        """The texts that can be read in a context, by the context that they leave behind.

        ``None`` stands for all texts.
        """
        if context == FREE:
            return [(None, FREE)]
        found = self._parts.get(context)
        if found is None:
            found = []
            for begin, rest in self._rests[context].residuals():
                after = self.number(rest)
                if after is not None:
                    found.append((begin, after))
            self._parts[context] = found
        return [(begin, after) for begin, after in found if after is not None]

    def _both(self, context: int, rest: CharDFA | None) -> int | None:
        if rest is None:
            return context
        if context == FREE:
            return self.number(rest)
        return self.number(self._rests[context].intersect(rest, limits=self._limits))

    def _texts(self, first: CharSet, may_end: bool) -> CharDFA:
        """All texts that begin with one of some characters, and perhaps the empty one."""
        key = (first, may_end)
        found = self._following.get(key)
        if found is None:
            tree = concat((Chars(first), ANY_TEXT))
            found = CharDFA.from_regular(union((tree, EMPTY)) if may_end else tree)
            self._following[key] = found
        return found


def first_characters(language: CharDFA) -> CharSet:
    """The characters that texts of a language begin with."""
    ends = [*(language.cuts[1:] - 1).tolist(), MAX_CODE_POINT]
    first = language.trans[1] != 0
    return CharSet.of(
        (low, high)
        for low, high, number in zip(
            language.cuts.tolist(), ends, language.interval_class.tolist(), strict=True
        )
        if first[number]
    )
