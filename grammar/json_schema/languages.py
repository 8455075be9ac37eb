"""From the names of regular languages to automata, each built once per compiler.

The cache is owned by the caller and shared by all grammars of one compiler; keys name the
language completely (the pattern, the format, the set of numbers), so an entry never depends
on the schema that asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, MutableMapping
from functools import cache
from typing import Any, TypeAlias, TypeVar

from ...errors import GrammarError, LimitError
from ...limits import Limits
from ..automata.dfa import CharDFA
from ..regex import search_language
from ..regular import (
    MAX_CODE_POINT,
    Assert,
    Chars,
    Complement,
    Concat,
    Intersect,
    Look,
    Regular,
    Repeat,
    Union,
    chars,
    concat,
    repeat,
)
from .formats import FORMATS, format_language
from .numbers import DigitBounds, Number, NumberSet, remainders
from .scalars import LanguageKey, NumberPart, StringPart, number_parts
from .sites import Site, escape_token

__all__ = ["Cache", "Languages"]

T = TypeVar("T")

Cache: TypeAlias = MutableMapping[Hashable, Any]

_FREE_PATTERNS = frozenset(("", ".*", "^.*", ".*$", "^", "$", "(.*)", "[\\s\\S]*"))
"""Unanchored searches that find something in every text, recognised without an automaton."""

_LARGE = 2_000
"""A pattern that spells out more characters than this is built when its schema is read."""

_MARGIN = 4
"""A pattern's automaton has this many times the characters that it spells out, at a guess."""


class Languages:
    """The automata of one grammar's strings and numbers.

    Args:
        cache: shared by the grammars of one compiler.
        asserts_formats: whether ``format`` restricts anything.
    """

    def __init__(
        self, cache: Cache, limits: Limits, digits: DigitBounds, *, asserts_formats: bool
    ) -> None:
        self._cache = cache
        self._limits = limits
        self._digits = digits
        self._asserts_formats = asserts_formats
        # The same few sets come again and again, and hashing fractions is slow.
        self._numbers: dict[int, tuple[NumberPart, CharDFA]] = {}

    def shared(self, name: Hashable, make: Callable[[], T]) -> T:
        """Something that depends on the digits only, made once per compiler."""
        key = (name, self._digits)
        found: T | None = self._cache.get(key)
        if found is None:
            found = self._cache[key] = make()
        return found

    # ------------------------------------------------------------------ patterns, formats

    def parse(self, pattern: str, site: Site, tokens: Iterable[object]) -> Regular:
        """The tree of a pattern that stands at ``site``. Raises ``GrammarError``."""
        key = ("regular", pattern)
        tree: Regular | None = self._cache.get(key)
        if tree is None:
            pointer = site.pointer + "".join("/" + escape_token(token) for token in tokens)
            tree = search_language(pattern, dialect="ecma", pointer=pointer)
            self._cache[key] = tree
            self._build_if_large(pattern, tree)
        return tree

    def is_valid(self, pattern: str) -> bool:
        """Whether a pattern can be parsed; parses it."""
        key = ("regular", pattern)
        if key in self._cache:
            return True
        try:
            tree = search_language(pattern, dialect="ecma")
            self._build_if_large(pattern, tree)
        except (GrammarError, LimitError):
            return False
        self._cache[key] = tree
        return True

    def _build_if_large(self, pattern: str, tree: Regular) -> None:
        """Find out now whether a pattern that spells out many states is too large."""
        if _spelled_out(tree) > _LARGE:
            self.automaton(("pattern", pattern))

    def examine(self, schema: dict[str, Any]) -> None:
        """Build the strings of a schema now if counting their characters may take many states.

        So that too large a product is an error of the schema, not of a mask. Only what one
        schema says by itself is looked at: what conjunctions make of it is built when reached.

        Args:
            schema: its keywords about strings are well-formed.

        Raises:
            LimitError: it is too large.
        """
        low, high = int(schema.get("minLength", 0)), schema.get("maxLength")
        if high is not None:
            high = int(high)
            if low > high:
                return
        size = low if high is None else high
        keys: list[LanguageKey] = []
        if "pattern" in schema:
            keys.append(("pattern", schema["pattern"]))
            tree = self._cache.get(("regular", schema["pattern"]))
            if tree is None:
                tree = search_language(schema["pattern"], dialect="ecma")
            size *= _spelled_out(tree)
        if "format" in schema and self.is_known_format(schema["format"]):
            keys.append(("format", schema["format"]))
            language = self.automaton(keys[-1])
            assert language is not None
            size *= len(language.accepting)
        if keys and size > self._limits.dfa_states // _MARGIN:
            self.string(StringPart(low, high, frozenset(keys)))

    def examine_numbers(self, schema: dict[str, Any], *, strict: bool) -> None:
        """The same for the numbers of a schema whose ``multipleOf`` has many remainders.

        Args:
            schema: its type and its keywords about numbers are well-formed.
            strict: ``1.0`` is not an integer.
        """
        if not self.is_simple_step(schema["multipleOf"]):
            for part in number_parts(schema, schema.get("type", ("number",)), strict=strict):
                self.number(part)

    def is_simple_step(self, step: Number) -> bool:
        """Whether no automaton can be too large for counting in these steps."""
        return remainders(step) <= self._limits.dfa_states // _MARGIN

    def is_manageable(self, schema: dict[str, Any]) -> bool:
        """Whether the string keywords of a schema are well-formed and :meth:`examine` passes."""
        if "pattern" not in schema and "format" not in schema:
            return True
        if (
            type(schema.get("minLength", 0)) is not int
            or type(schema.get("maxLength", 0)) is not int
            or type(schema.get("pattern", "")) is not str
            or type(schema.get("format", "")) is not str
        ):
            return False
        try:
            self.examine(schema)
        except (GrammarError, LimitError):
            return False
        return True

    def is_known_format(self, name: str) -> bool:
        """Whether a format restricts strings; others are annotations."""
        return self._asserts_formats and name in FORMATS

    def automaton(self, key: LanguageKey) -> CharDFA | None:
        """The automaton of a pattern or format; ``None`` for a format that is not known."""
        if key in self._cache:
            found: CharDFA | None = self._cache[key]
            return found
        kind, text = key
        made: CharDFA | None
        if kind == "format":
            made = format_language(text)
        else:
            tree = self._cache.get(("regular", text))
            if tree is None:
                tree = search_language(text, dialect="ecma")
            made = CharDFA.from_regular(tree, limits=self._limits, culprit=repr(text))
        self._cache[key] = made
        return made

    def accepts(self, key: LanguageKey, text: str) -> bool:
        if key[1] in _FREE_PATTERNS and key[0] == "pattern":
            return True
        automaton = self.automaton(key)
        return automaton is None or automaton.accepts(text)

    def matches(self, pattern: str, text: str) -> bool:
        """Whether a pattern is found in a text."""
        return self.accepts(("pattern", pattern), text)

    # ------------------------------------------------------------------ strings

    def contains(self, part: StringPart, text: str) -> bool:
        if part.values is not None and text not in part.values:
            return False
        return (
            part.min <= len(text)
            and (part.max is None or len(text) <= part.max)
            and text not in part.excluded
            and all(self.accepts(key, text) for key in part.languages)
            and not any(self.accepts(key, text) for key in part.excluded_languages)
        )

    def values(self, part: StringPart) -> tuple[str, ...]:
        """The members of a part that lists its candidates."""
        assert part.values is not None
        if not part.languages and not part.excluded_languages:
            return part.values
        return tuple(value for value in part.values if self.contains(part, value))

    def string(self, part: StringPart) -> CharDFA:
        """The automaton of a set of strings."""
        if part.values is not None:
            return CharDFA.from_strings(self.values(part))
        key = ("string", part)
        found: CharDFA | None = self._cache.get(key)
        if found is not None:
            return found
        made: CharDFA | None = None
        for name in sorted(part.languages):
            language = self.automaton(name)
            assert language is not None
            made = language if made is None else made.intersect(language, limits=self._limits)
        if made is None:
            made = CharDFA.any_text()
        for name in sorted(part.excluded_languages):
            language = self.automaton(name)
            assert language is not None
            made = made.difference(language, limits=self._limits)
        if part.excluded:
            made = made.difference(CharDFA.from_strings(part.excluded), limits=self._limits)
        if part.min > 0 or part.max is not None:
            names = " and ".join(repr(text) for _, text in sorted(part.languages))
            made = made.bounded(part.min, part.max, limits=self._limits, culprit=names)
            self._check_spellings(made, names)
        self._cache[key] = made
        return made

    def _check_spellings(self, language: CharDFA, culprit: str) -> None:
        """Stop before a language whose lowering would surely be too large.

        A state from which characters above ASCII go on needs about two more, in the middle of
        a character, for each border between their classes.
        """
        if len(language.accepting) < self._limits.byte_states >> 8:
            return
        borders = [c for c in language.cuts.tolist() if c > 0x80 and c not in (0xD800, 0xE000)]
        beyond = language.interval_class[language.cuts > 0x80]
        wide = int((language.trans[:, beyond] != 0).any(axis=1).sum())
        needed = len(language.accepting) + 2 * len(borders) * wide
        if needed > self._limits.byte_states:
            raise LimitError(
                stage="spelling of a string's characters",
                limit="byte_states",
                allowed=self._limits.byte_states,
                actual=needed,
                culprit=culprit,
            )

    def has_string(self, part: StringPart) -> bool:
        """Whether a set of strings has a member; builds no automaton where that is plain."""
        if part.values is not None:
            return bool(self.values(part))
        if not part.languages and not part.excluded_languages:
            # Finitely many exclusions cannot use up the strings of a positive length.
            return (part.max is None or part.max > 0) or "" not in part.excluded
        if len(part.languages) == 1 and not part.excluded_languages and not part.excluded:
            ((kind, text),) = part.languages
            if kind == "pattern":
                if text in _FREE_PATTERNS:
                    return True
                tree = self._cache.get(("regular", text))
                shortest = None if tree is None else _plain_length(tree)
                if (
                    shortest is not None
                    and part.min <= shortest
                    and (part.max is None or shortest <= part.max)
                ):
                    return True
            elif part.min == 0 and part.max is None:
                return True
        return not self.string(part).is_empty

    # ------------------------------------------------------------------ numbers

    def number(self, part: NumberPart) -> CharDFA:
        """The automaton of the spellings of a set of numbers without listed values."""
        seen = self._numbers.get(id(part))
        if seen is not None and seen[0] is part:
            return seen[1]
        found = self._number(part)
        self._numbers[id(part)] = part, found
        return found

    def _number(self, part: NumberPart) -> CharDFA:
        key = ("number", part, self._digits)
        found: CharDFA | None = self._cache.get(key)
        if found is None:
            found = self._spelled(part.within)
            if part.excluded:
                found = self._without(found, part)
            if part.point is not None:
                plain = _without_point()
                found = found.difference(plain) if part.point else found.intersect(plain)
            self._cache[key] = found
        return found

    def _without(self, spelled: CharDFA, part: NumberPart) -> CharDFA:
        """Spellings of ``part.within`` whose value is not excluded.

        The automaton of an excluded set need not have all spellings with exponents. So these are
        taken only from below and above everything that is excluded.
        """
        found = spelled.difference(_with_exponent())
        for taken in part.excluded:
            found = found.difference(self._spelled(taken), limits=self._limits)
        lows = [taken.minimum for taken in part.excluded]
        highs = [taken.maximum for taken in part.excluded]
        outside = [
            NumberSet(maximum=min(low for low in lows if low is not None), exclusive_maximum=True)
            if None not in lows
            else None,
            NumberSet(minimum=max(h for h in highs if h is not None), exclusive_minimum=True)
            if None not in highs
            else None,
        ]
        for side in outside:
            if side is not None and not (rest := part.within.intersect(side)).is_empty():
                found = found.union(self._spelled(rest), limits=self._limits)
        return found

    def _spelled(self, numbers: NumberSet) -> CharDFA:
        key = ("numbers", numbers, self._digits)
        found: CharDFA | None = self._cache.get(key)
        if found is None:
            found = numbers.language(digits=self._digits, limits=self._limits)
            self._cache[key] = found
        return found

    def has_number(self, part: NumberPart) -> bool:
        if part.values is not None:
            return bool(part.values)
        if not part.excluded and part.point is None:
            return not part.within.is_empty()
        return not self.number(part).is_empty


@cache
def _with_exponent() -> CharDFA:
    """Texts with an ``e`` in them."""
    anything = repeat(chars((0, MAX_CODE_POINT)), 0, None)
    return CharDFA.from_regular(concat((anything, chars((69, 69), (101, 101)), anything)))


def _without_point() -> CharDFA:
    """Spellings of integers without a decimal point or exponent."""
    return CharDFA.from_regular(
        concat((repeat(chars((45, 45)), 0, 1), repeat(chars((48, 57)), 1, None)))
    )


def _plain_length(tree: Regular) -> int | None:
    """Length of the shortest match of a tree that certainly matches something, else ``None``.

    Certain are trees without lookarounds, complements and intersections whose assertions are
    ``^`` at the very start and ``$`` at the very end, which hold there.
    """
    items = list(tree.items) if isinstance(tree, Concat) else [tree]
    while items and _is_free_or(items[0], "start"):
        items.pop(0)
    while items and _is_free_or(items[-1], "end"):
        items.pop()
    return _shortest(Concat(tuple(items)))


def _is_free_or(tree: Regular, kind: str) -> bool:
    if isinstance(tree, Assert):
        return tree.kind == kind
    return isinstance(tree, Repeat) and tree.min == 0


def _shortest(tree: Regular) -> int | None:
    if isinstance(tree, Chars):
        return 1 if tree.set else None
    if isinstance(tree, Concat):
        total = 0
        for item in tree.items:
            length = _shortest(item)
            if length is None:
                return None
            total += length
        return total
    if isinstance(tree, Union):
        lengths = [length for option in tree.options if (length := _shortest(option)) is not None]
        return min(lengths, default=None)
    if isinstance(tree, Repeat):
        if tree.min == 0:
            return 0
        length = _shortest(tree.item)
        return None if length is None else length * tree.min
    return None


def _spelled_out(tree: Regular) -> int:
    """How many characters a pattern has once its repeats are written out."""
    total = 0
    todo = [(tree, 1)]
    while todo:
        node, copies = todo.pop()
        if isinstance(node, Concat):
            todo.extend((item, copies) for item in node.items)
        elif isinstance(node, Union):
            todo.extend((option, copies) for option in node.options)
        elif isinstance(node, Repeat):
            todo.append((node.item, copies * max(1, node.min if node.max is None else node.max)))
        elif isinstance(node, Look | Complement):
            todo.append((node.item, copies))
        elif isinstance(node, Intersect):
            todo.extend((part, copies) for part in node.parts)
        else:
            total += copies
    return total
