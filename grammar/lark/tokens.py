"""Terminals as tokens: where their matches end, and what is ignored between them.

A :class:`Tokens` reads one terminal, and then what the grammar ignores (the *gap*), from context to
context. Gaps stand behind tokens, so that a text has one parse per gap; the one before the first
token is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...limits import Limits
from ..automata.dfa import CharDFA
from ..automata.first_match import FirstMatch
from ..ir import NOTHING, Choice, Expr, TextLexeme
from ..ir import Sequence as IrSequence
from ..regular import CharSet
from .contexts import Contexts, Step, first_characters

__all__ = ["Following", "Terminal", "Tokens"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """One terminal of the grammar.

    Attributes:
        matches: what a lexer's match of it can be.
        is_text: whether it is a text and no pattern, so that it can share a lexeme with its gap.
    """

    name: str
    matches: tuple[FirstMatch, ...]
    is_text: bool


@dataclass(frozen=True, slots=True)
class Following:
    """What can stand after a token and its gap: the first characters, and the end of the text."""

    first: CharSet
    may_end: bool


class Tokens:
    """The tokens of one grammar.

    Args:
        terminals: by name.
        ignored: the names of those that may stand between tokens.
        following: what can stand after each terminal, gaps aside.
    """

    def __init__(
        self,
        terminals: Mapping[str, Terminal],
        ignored: Sequence[str],
        following: Mapping[str, Following],
        contexts: Contexts,
        limits: Limits,
    ) -> None:
        self._terminals = terminals
        self._ignored = [terminals[name] for name in ignored]
        self._following = following
        self._contexts = contexts
        self._limits = limits
        every = [terminal for terminal in terminals.values()]
        self._all_first = _union(_first(terminal) for terminal in every)
        self._gap_first = _union(_first(terminal) for terminal in self._ignored)
        self._steps: dict[tuple[str, int], dict[int, Expr]] = {}
        self._gaps: dict[int, list[Step]] = {}
        self._lexemes: dict[CharDFA, Expr] = {}

    def read(self, name: str, context: int) -> Mapping[int, Expr]:
        """A terminal with its gap, by the context after both. Raises ``LimitError``."""
        key = (name, context)
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._read(self._terminals[name], context)
        return found

    def gap(self, context: int, following: Following) -> Mapping[int, Expr]:
        """A gap alone, by the context after it."""
        found: dict[int, CharDFA] = {}
        for language, after in self._gap(context):
            self._merge(found, self._relaxed(after, following), language)
        return {after: self._lexeme(language) for after, language in found.items()}

    # ------------------------------------------------------------------ tokens

    def _read(self, terminal: Terminal, context: int) -> dict[int, Expr]:
        following = self._following[terminal.name]
        first = following.first.union(self._gap_first) if self._ignored else following.first
        tokens: dict[int, CharDFA] = {}
        for language, after in self._contexts.steps(context, terminal.matches):
            after = self._contexts.relaxed(after, first, following.may_end)
            self._merge(tokens, after, language)
        if not self._ignored:
            return {after: self._lexeme(language) for after, language in tokens.items()}
        whole: dict[int, CharDFA] = {}
        parts: dict[int, list[Expr]] = {}
        for between, language in tokens.items():
            gaps: dict[int, CharDFA] = {}
            for gap, after in self._gap(between):
                self._merge(gaps, self._relaxed(after, following), gap)
            for after, gap in gaps.items():
                if terminal.is_text:
                    both = language.concat(gap, limits=self._limits, culprit=terminal.name)
                    self._merge(whole, after, both)
                else:
                    pair = IrSequence((self._lexeme(language), self._lexeme(gap)))
                    parts.setdefault(after, []).append(pair)
        for after, language in whole.items():
            parts.setdefault(after, []).append(self._lexeme(language))
        return {
            after: options[0] if len(options) == 1 else Choice(tuple(options))
            for after, options in parts.items()
        }

    def _relaxed(self, context: int, following: Following) -> int:
        return self._contexts.relaxed(context, following.first, following.may_end)

    def _merge(self, found: dict[int, CharDFA], after: int, language: CharDFA) -> None:
        known = found.get(after)
        found[after] = language if known is None else known.union(language, limits=self._limits)

    def _lexeme(self, language: CharDFA) -> Expr:
        """One object for equal languages: the FSM knows them by identity first."""
        found = self._lexemes.get(language)
        if found is None:
            is_nothing = language.max_length == 0
            found = self._lexemes[language] = NOTHING if is_nothing else TextLexeme(language)
        return found

    # ------------------------------------------------------------------ gaps

    def _gap(self, context: int) -> list[Step]:
        """All that may be ignored in a context, by the exact context after it."""
        found = self._gaps.get(context)
        if found is None:
            found = self._gaps[context] = self._explored(context)
        return found

    def _explored(self, start: int) -> list[Step]:
        """Paths between contexts by ignored terminals, as languages (Kleene, 1956)."""
        nothing = CharDFA.from_strings([""])
        order = [start]
        arcs: dict[tuple[int, int], CharDFA] = {}
        for context in order:
            for terminal in self._ignored:
                for language, after in self._contexts.steps(context, terminal.matches):
                    after = self._contexts.relaxed(after, self._all_first, True)
                    if after not in order:
                        order.append(after)
                    key = (context, after)
                    known = arcs.get(key)
                    arcs[key] = (
                        language if known is None else known.union(language, limits=self._limits)
                    )
        for middle in order:
            self._pass_through(arcs, middle)
        found: dict[int, CharDFA] = {start: nothing}
        for (a, b), words in arcs.items():
            if a == start:
                self._merge(found, b, words)
        return [(language, after) for after, language in found.items()]

    def _pass_through(self, arcs: dict[tuple[int, int], CharDFA], middle: int) -> None:
        """Add the paths that go through a context."""

        def joined(before: CharDFA, after: CharDFA) -> CharDFA:
            return before.concat(after, limits=self._limits, culprit="%ignore")

        def add(start: int, end: int, words: CharDFA) -> None:
            known = arcs.get((start, end))
            arcs[start, end] = words if known is None else known.union(words, limits=self._limits)

        loop = arcs.pop((middle, middle), None)
        into = [(start, words) for (start, end), words in arcs.items() if end == middle]
        out = [(end, words) for (start, end), words in arcs.items() if start == middle]
        if loop is not None:
            loop = loop.star(limits=self._limits, culprit="%ignore")
            add(middle, middle, loop)
            out = [(end, joined(loop, words)) for end, words in out]
            for end, words in out:
                add(middle, end, words)
        for start, before in into:
            for end, after in out:
                add(start, end, joined(before, after))
            if loop is not None:
                add(start, middle, joined(before, loop))


def _first(terminal: Terminal) -> CharSet:
    return _union(first_characters(match.language) for match in terminal.matches)


def _union(sets: Iterable[CharSet]) -> CharSet:
    return CharSet.of(bounds for characters in sets for bounds in characters.ranges)
