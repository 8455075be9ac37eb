"""The part of pattern parsing that the dialects share: groups, alternation, quantifiers.

One pass over the text, no tokenizer and no recursion: open groups are :class:`_Frame` objects on
a stack, so nesting costs no Python frames here. It is bounded all the same
(:data:`MAX_GROUP_DEPTH`), because whoever walks the tree later does recurse.

A dialect (:class:`PythonParser <maskwright.grammar.regex.python.PythonParser>`,
:class:`EcmaParser <maskwright.grammar.regex.ecma.EcmaParser>`) says what its escapes, classes,
braces, anchors and group openers mean. Only the *language* of a pattern is kept: captures are
dropped, lazy quantifiers are greedy ones, repeats are never unrolled, and alternatives that are
single characters become one set. An *ordered* tree also keeps in which order a backtracking
matcher tries things: alternatives stand as written, and repeats are marked if they are lazy.

What is not regular, or not a matter of language, is an error that says what to write instead:
backreferences, conditionals, recursion, and possessive or atomic parts that have a choice to
commit to (their meaning depends on the order of backtracking).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn, TypeAlias

from ...errors import GrammarError
from ..regular import Chars, Look, Regular, Repeat, Union, concat
from .tree import either, exact_character, has_choice, repeated

__all__ = [
    "MAX_GROUP_DEPTH",
    "MAX_REPEAT_COUNT",
    "Modes",
    "PatternParser",
]

MAX_GROUP_DEPTH = 100
"""Groups inside groups; a tree four times as deep can still be walked recursively."""

MAX_REPEAT_COUNT = 2**32 - 2
"""Largest number in ``{n,m}``, that of Python's ``re``."""

_MAX_COUNT_DIGITS = 20
_EXCERPT = 60
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}

Count: TypeAlias = tuple[int, int | None]

# What a quantifier would apply to.
_Operand: TypeAlias = Literal["nothing", "item", "assertion", "quantified"]


@dataclass(frozen=True, slots=True)
class Modes:
    """The flags in force at one place of a pattern."""

    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False


@dataclass(slots=True)
class _Frame:
    """An open group: what was read of it so far, and what to restore after it.

    ``items`` is the concatenation being read, ``options`` the alternatives before it.
    """

    opened: int
    outer_modes: Modes
    kind: Literal["group", "ahead", "behind", "atomic"] = "group"
    negative: bool = False
    items: list[Regular] = field(default_factory=list)
    options: list[Regular] = field(default_factory=list)


class PatternParser(ABC):
    """A parse in progress. Use once: ``Dialect(pattern, modes, pointer).parse()``.

    Set ``ordered`` before for a tree that keeps the order of trying.

    ``special`` are the characters that do not stand for themselves in the current modes.
    """

    dialect: str
    """Name for error messages."""

    has_possessive: bool
    """Whether ``+`` after a quantifier makes it possessive."""

    repeats_lookbehind: bool
    """Whether a quantifier may follow a lookbehind."""

    def __init__(self, pattern: str, modes: Modes, pointer: str | None) -> None:
        self.text = pattern
        self.pos = 0
        self.pointer = pointer
        self.special: frozenset[str] = frozenset()
        self.literal: Callable[[str], Regular] = exact_character
        self.modes = modes
        self.ordered = False
        self.enter_modes(modes)
        self._root = _Frame(0, modes)
        self._frame = self._root
        self._stack: list[_Frame] = []
        self._operand: _Operand = "nothing"

    # -- what a dialect defines --------------------------------------------------------------

    @abstractmethod
    def enter_modes(self, modes: Modes) -> None:
        """Set ``modes``, and ``special`` and ``literal`` to match."""

    @abstractmethod
    def read_escape(self) -> None:
        """Read from a backslash outside of a class."""

    @abstractmethod
    def read_class(self) -> Regular:
        """Read from the ``[`` to after its ``]``."""

    @abstractmethod
    def read_count(self) -> Count | None:
        """Read ``{n,m}`` if there is one at ``pos``; else leave ``pos`` and return ``None``."""

    @abstractmethod
    def read_extension(self, start: int) -> None:
        """Read the rest of a group opener from after ``(?``; ``start`` is its parenthesis."""

    @abstractmethod
    def read_layout(self, character: str) -> None:
        """Read a special character that is none of the common ones (verbose mode)."""

    @abstractmethod
    def dot(self) -> Regular:
        """What ``.`` matches in the current modes."""

    @abstractmethod
    def caret(self) -> Regular:
        """What ``^`` asserts in the current modes."""

    @abstractmethod
    def dollar(self) -> Regular:
        """What ``$`` asserts in the current modes."""

    # -- the pass ----------------------------------------------------------------------------

    def parse(self) -> Regular:
        """The tree of the whole pattern."""
        text = self.text
        end = len(text)
        while self.pos < end:
            character = text[self.pos]
            if character in self.special:
                self._read_special(character)
            else:
                self.pos += 1
                self.append(self.literal(character))
        if self._stack:
            self.fail("this '(' is never closed: add ')', or write '\\('", self._frame.opened)
        return self._close_alternatives(self._root)

    def append(self, item: Regular) -> None:
        """Add one item that a quantifier may follow."""
        self._frame.items.append(item)
        self._operand = "item"

    def append_assertion(self, item: Regular) -> None:
        """Add an anchor or word boundary, which no quantifier may follow."""
        self._frame.items.append(item)
        self._operand = "assertion"

    def open_group(
        self,
        start: int,
        *,
        modes: Modes | None = None,
        kind: Literal["group", "ahead", "behind", "atomic"] = "group",
        negative: bool = False,
    ) -> None:
        """Begin a group whose parenthesis is at ``start``, the opener being read already."""
        if len(self._stack) >= MAX_GROUP_DEPTH:
            self.fail(f"groups are nested more than {MAX_GROUP_DEPTH} deep", start)
        self._stack.append(self._frame)
        self._frame = _Frame(start, self.modes, kind, negative)
        self._operand = "nothing"
        if modes is not None:
            self.enter_modes(modes)

    def at_start(self) -> bool:
        """Whether nothing was read yet that could match (flags and comments do not count)."""
        frame = self._frame
        return not self._stack and not frame.items and not frame.options

    def fail(self, problem: str, position: int) -> NoReturn:
        """Raise the :class:`GrammarError` for a problem at this offset of the pattern."""
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        excerpt = self.text
        if len(excerpt) > _EXCERPT:
            first = max(0, position - _EXCERPT // 2)
            excerpt = f"…{excerpt[first : first + _EXCERPT]}…"
        message = f"{self.dialect} pattern {excerpt!r}: {problem}"
        if self.pointer is not None:
            message += f" (line {line}, column {column} of the pattern)"
        raise GrammarError(message, pointer=self.pointer, line=line, column=column)

    def fail_backreference(self, written: str, position: int) -> NoReturn:
        self.fail(
            f"the backreference {written!r} is not a regular language: "
            "write one alternative for each text that may repeat",
            position,
        )

    def _read_special(self, character: str) -> None:
        if character == "\\":
            self.read_escape()
        elif character == "[":
            self.append(self.read_class())
        elif character == "(":
            start = self.pos
            self.pos += 1
            if self.text.startswith("?", self.pos):
                self.pos += 1
                self.read_extension(start)
            else:
                self.open_group(start)
        elif character == ")":
            self._close_group()
        elif character in _QUANTIFIERS:
            start = self.pos
            self.pos += 1
            self._quantify(_QUANTIFIERS[character], start)
        elif character == "{":
            self._read_brace()
        elif character == ".":
            self.pos += 1
            self.append(self.dot())
        elif character == "|":
            self.pos += 1
            frame = self._frame
            frame.options.append(concat(frame.items))
            frame.items = []
            self._operand = "nothing"
        elif character == "^":
            self.pos += 1
            self.append_assertion(self.caret())
        elif character == "$":
            self.pos += 1
            self.append_assertion(self.dollar())
        else:
            self.read_layout(character)

    def _read_brace(self) -> None:
        start = self.pos
        count = self.read_count()
        if count is None:
            self.pos += 1
            self.append(self.literal("{"))
        else:
            self._quantify(count, start)

    def digits(self) -> str:
        """Read ASCII digits."""
        text, start = self.text, self.pos
        while self.pos < len(text) and text[self.pos] in "0123456789":
            self.pos += 1
        return text[start : self.pos]

    def count_of(self, low: str, high: str | None, start: int) -> Count:
        """Check the numbers of ``{low,high}``; an empty ``high`` is unbounded, ``None`` is low."""
        for number in (low, high or ""):
            if len(number) > _MAX_COUNT_DIGITS or int(number or 0) > MAX_REPEAT_COUNT:
                self.fail(f"a repeat count may be at most {MAX_REPEAT_COUNT}", start)
        minimum = int(low or 0)
        if high is None:
            return minimum, minimum
        maximum = int(high) if high else None
        if maximum is not None and maximum < minimum:
            self.fail(
                f"the repeat {{{minimum},{maximum}}} has its bounds the wrong way round: "
                f"write {{{maximum},{minimum}}}",
                start,
            )
        return minimum, maximum

    def _quantify(self, count: Count, start: int) -> None:
        """Apply a quantifier that begins at ``start`` and was read up to its ``?`` or ``+``."""
        written = self.text[start : self.pos]
        if self._operand in ("nothing", "assertion"):
            self.fail(
                f"there is nothing before {written!r} that it could repeat: "
                f"write '\\{written}' for the character itself",
                start,
            )
        if self._operand == "quantified":
            self.fail(f"{written!r} follows another quantifier: put a group around that", start)
        items = self._frame.items
        item = items[-1]
        minimum, maximum = count
        follower = self.text[self.pos : self.pos + 1]
        if follower == "+" and self.has_possessive:
            self.pos += 1
            items[-1] = self._possessive(item, minimum, maximum, start)
        else:
            items[-1] = repeated(item, minimum, maximum)
            if follower == "?":
                self.pos += 1
                if self.ordered and isinstance(items[-1], Repeat):
                    items[-1] = replace(items[-1], lazy=True)
        self._operand = "quantified"

    def _possessive(self, item: Regular, minimum: int, maximum: int | None, start: int) -> Regular:
        """A quantifier that never gives back; exact for a single character.

        ``X*+`` is ``X*(?!X)``, and of ``X{n,m}+`` only fewer than m are followed by no X.
        """
        if not isinstance(item, Chars):
            self.fail(
                "a possessive quantifier is only supported after a single character or class: "
                "drop its '+', or write a lookahead for what must not follow",
                start,
            )
        no_more = Look(item, behind=False, negative=True)
        if maximum is None:
            return concat([repeated(item, minimum, None), no_more])
        full = repeated(item, maximum, maximum)
        if minimum == maximum:
            return full
        return either([full, concat([repeated(item, minimum, maximum - 1), no_more])])

    def _close_group(self) -> None:
        if not self._stack:
            self.fail("this ')' closes no group: write '\\)'", self.pos)
        frame = self._frame
        body = self._close_alternatives(frame)
        self.pos += 1
        self._frame = self._stack.pop()
        self.enter_modes(frame.outer_modes)
        if frame.kind == "ahead" or frame.kind == "behind":
            body = Look(body, behind=frame.kind == "behind", negative=frame.negative)
        elif frame.kind == "atomic" and has_choice(body):
            self.fail(
                "an atomic group is only supported around what can match in one way: "
                "write '(?:' instead of '(?>', or a lookahead for what must not follow",
                frame.opened,
            )
        if frame.kind == "behind" and not self.repeats_lookbehind:
            self.append_assertion(body)
        else:
            self.append(body)

    def _close_alternatives(self, frame: _Frame) -> Regular:
        last = concat(frame.items)
        if not frame.options:
            return last
        options = [*frame.options, last]
        return Union(tuple(options)) if self.ordered else either(options)
