"""From the text of a grammar to the parts of its rules, in one pass.

No tokenizer and no recursion: open groups are frames on a stack, so nesting costs no Python
frames here. Those who walk a rule's tree later do recurse; a part that is nested
:data:`MAX_DEPTH` deep therefore becomes a rule of its own, under a :class:`Piece` as its key, and
nesting has no limit at all. (Grammars written for early versions of llama.cpp nest optional items
hundreds deep.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NoReturn

from ...errors import GrammarError
from ..excerpts import error_at
from ..ir import Key
from ..regex.tree import exact_character
from ..regular import ANY_CHAR, MAX_CODE_POINT, Chars, CharSet, Regular, concat
from .parts import Call, Part, alternatives, repetition, series

__all__ = ["MAX_DEPTH", "Piece", "parse"]

MAX_DEPTH = 30
"""Groups and quantifiers around each other in one rule's tree."""

MAX_COUNT = 10**9
"""Largest number in ``{m,n}``."""

_BLANKS = re.compile(r"(?:[ \t]+|#[^\r\n]*)*")
_LINES = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_HEAD = re.compile(r"([A-Za-z0-9_-]+)[ \t]*::=")
_PLAIN = re.compile(r'[^"\\]+')
_DIGITS = re.compile(r"[0-9]+")
_HEX = re.compile(r"[0-9A-Fa-f]*")

_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {
    "n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-",
    # The rest of C's, which XGrammar reads too.
    "'": "'", "?": "?", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "e": "\x1b",
}  # fmt: skip
_CLASS_ESCAPES = _ESCAPES | {c: c for c in "^$.*+?(){}|/"}

_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class Piece:
    """Key of a part of a rule that is nested too deeply to stay inside."""

    rule: str
    number: int

    def __repr__(self) -> str:
        return f"{self.rule!r} (nested part {self.number})"


def parse(text: str, root: str) -> dict[Key, Part]:
    """The rules of a grammar, and its pieces; every call has its rule.

    Raises:
        GrammarError: with line, column and excerpt, unless there is no rule ``root``.
    """
    return _Parser(text).parse(root)


@dataclass(slots=True)
class _Frame:
    """An open group, or the rule's body: alternatives that are complete, and the current one.

    The number with a part is how deep it is nested in itself.
    """

    opened: int
    options: list[tuple[Part, int]] = field(default_factory=list)
    items: list[tuple[Part, int]] = field(default_factory=list)

    def close_alternative(self) -> None:
        depth = max((depth for _, depth in self.items), default=0)
        self.options.append((series(part for part, _ in self.items), depth))
        self.items = []

    def body(self) -> tuple[Part, int]:
        self.close_alternative()
        depth = max(depth for _, depth in self.options)
        return alternatives(part for part, _ in self.options), depth


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise GrammarError(f"a grammar must be a string, not {type(text).__name__}")
        self.text = text
        self.pos = 0
        self._rules: dict[Key, Part] = {}
        self._defined: dict[str, int] = {}
        self._called: dict[str, int] = {}
        self._name = ""
        self._pieces = 0
        self._frame = _Frame(0)
        self._stack: list[_Frame] = []

    def parse(self, root: str) -> dict[Key, Part]:
        self._skip(_LINES)
        while self.pos < len(self.text):
            self._read_rule()
        names = list(self._defined)
        for name, position in self._called.items():
            if name not in self._defined:
                self.fail(f"there is no rule {name!r}{_did_you_mean(name, names)}", position)
        if root not in self._defined:
            hint = _did_you_mean(root, names)
            if not names:
                hint = ": the text has no rules"
            raise GrammarError(
                f"there is no rule {root!r} to start with{hint}; write '{root} ::= …'"
            )
        return self._rules

    def fail(self, problem: str, position: int) -> NoReturn:
        raise error_at(self.text, position, problem)

    # -- rules -------------------------------------------------------------------------------

    def _read_rule(self) -> None:
        head = _HEAD.match(self.text, self.pos)
        if head is None:
            name = _NAME.match(self.text, self.pos)
            if name is None:
                self.fail("expected a rule, such as 'root ::= \"text\"'", self.pos)
            self.pos = name.end()
            self._skip(_BLANKS)
            self.fail(f"expected '::=' after the rule name {name.group()!r}", self.pos)
        name_text = head.group(1)
        if name_text in self._defined:
            before = error_at(self.text, self._defined[name_text], "")
            self.fail(
                f"the rule {name_text!r} was already defined in line {before.line}: "
                "join the two with '|', or rename one",
                self.pos,
            )
        self._defined[name_text] = self.pos
        self._name, self._pieces = name_text, 0
        self.pos = head.end()
        self._skip(_LINES)
        self._frame = _Frame(self.pos)
        while self._read_item():
            pass
        body, _ = self._frame.body()
        self._rules[name_text] = body

    def _read_item(self) -> bool:
        """Read on; ``False`` at the end of the rule."""
        start = self.pos
        character = self.text[start : start + 1]
        if character == '"':
            self._add(self._string())
        elif character == "[":
            self._add(self._class())
        elif character == "(":
            self._open_group()
        elif character == ")":
            self._close_group()
        elif character == "|":
            self.pos += 1
            self._frame.close_alternative()
            self._skip(_LINES)
        elif character == ".":
            self.pos += 1
            self._add(ANY_CHAR)
        elif character in _QUANTIFIERS and character:
            self.pos += 1
            self._quantify(*_QUANTIFIERS[character], start)
        elif character == "{":
            self._quantify(*self._counts(), start)
        elif _NAME.match(character):
            self._call()
        elif character in ("", "\r", "\n"):
            return self._goes_on()
        elif character in ("<", "!"):
            self.fail(
                "tokens named in a grammar, as in <token>, <[id]> and !<token>, are not "
                'supported: write the text that they stand for, as in "text"',
                start,
            )
        else:
            self._fail_unexpected(character)
        return True

    def _goes_on(self) -> bool:
        """At a line's end outside of groups, or at the text's end: whether the rule goes on."""
        end = len(self.text)
        if self.pos < end:
            self._skip(_LINES)
            if self.pos < end and _HEAD.match(self.text, self.pos) is None:
                return True
        if self._stack:
            self.fail("this '(' is never closed: add ')'", self._frame.opened)
        return False

    def _fail_unexpected(self, character: str) -> NoReturn:
        if character in "=:":
            self.fail("expected '::=' after the name of a rule, on the name's line", self.pos)
        if character in "'":
            self.fail('expected a string in double quotes, as in "text"', self.pos)
        closing = ", ')'" if self._stack else ""
        self.fail(
            f"unexpected {character!r}: expected a string, a class as in [a-z], '.', '(', "
            f"the name of a rule, '|'{closing} or a new line",
            self.pos,
        )

    # -- items -------------------------------------------------------------------------------

    def _skip(self, layout: re.Pattern[str]) -> None:
        match = layout.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()

    def _skip_within(self) -> None:
        """Skip what may stand between items: line ends only in groups."""
        self._skip(_LINES if self._stack else _BLANKS)

    def _add(self, part: Part, depth: int = 0) -> None:
        self._frame.items.append(self._bounded(part, depth))
        self._skip_within()

    def _bounded(self, part: Part, depth: int) -> tuple[Part, int]:
        if depth < MAX_DEPTH:
            return part, depth
        self._pieces += 1
        key = Piece(self._name, self._pieces)
        self._rules[key] = part
        return Call(key), 0

    def _call(self) -> None:
        name = _NAME.match(self.text, self.pos)
        assert name is not None
        if _HEAD.match(self.text, self.pos) is not None:
            if self._stack:
                self.fail(
                    f"this '(' is not closed before the rule {name.group()!r} begins: add ')'",
                    self._frame.opened,
                )
            if self._frame.items:
                self.fail(f"the rule {name.group()!r} must begin on a line of its own", self.pos)
            self.fail(
                f"expected what {self._name!r} matches before the rule {name.group()!r} begins: "
                'write "" for the empty text',
                self.pos,
            )
        self._called.setdefault(name.group(), self.pos)
        self.pos = name.end()
        self._add(Call(name.group()))

    def _open_group(self) -> None:
        if self.text.startswith("(=", self.pos):
            self.fail("lookahead assertions '(=…)' are not supported", self.pos)
        self._stack.append(self._frame)
        self._frame = _Frame(self.pos)
        self.pos += 1
        self._skip(_LINES)

    def _close_group(self) -> None:
        if not self._stack:
            self.fail("this ')' closes no group: add '(', or write \")\"", self.pos)
        part, depth = self._frame.body()
        self._frame = self._stack.pop()
        self.pos += 1
        self._add(part, depth + 1)

    def _quantify(self, minimum: int, maximum: int | None, start: int) -> None:
        items = self._frame.items
        if not items:
            written = self.text[start : self.pos]
            self.fail(
                f"there is nothing before {written!r} that it could repeat: "
                "put it after a string, a class, a group or the name of a rule",
                start,
            )
        part, depth = items[-1]
        items[-1] = self._bounded(repetition(part, minimum, maximum), depth + 1)
        self._skip_within()

    def _counts(self) -> tuple[int, int | None]:
        """Read ``{m}``, ``{m,}`` or ``{m,n}``."""
        start = self.pos
        self.pos += 1
        self._skip_within()
        minimum = self._count("expected a number, as in {2} or {0,5}")
        self._skip_within()
        maximum: int | None = minimum
        if self.text.startswith(",", self.pos):
            self.pos += 1
            self._skip_within()
            if self.text.startswith("-1", self.pos):  # XGrammar prints an open end like this
                self.pos += 2
                maximum = None
            elif self.text.startswith("}", self.pos):
                maximum = None
            else:
                maximum = self._count("expected a number or '}'")
            self._skip_within()
        if not self.text.startswith("}", self.pos):
            self.fail("expected ',' or '}' in a repeat, as in {2}, {2,} or {2,5}", self.pos)
        self.pos += 1
        if maximum is not None and maximum < minimum:
            self.fail(
                f"the repeat {{{minimum},{maximum}}} has its bounds the wrong way round: "
                f"write {{{maximum},{minimum}}}",
                start,
            )
        return minimum, maximum

    def _count(self, expected: str) -> int:
        digits = _DIGITS.match(self.text, self.pos)
        if digits is None:
            self.fail(expected, self.pos)
        if digits.end() - self.pos > len(str(MAX_COUNT)) or int(digits.group()) > MAX_COUNT:
            self.fail(f"a repeat count may be at most {MAX_COUNT}", self.pos)
        self.pos = digits.end()
        return int(digits.group())

    # -- characters --------------------------------------------------------------------------

    def _string(self) -> Regular:
        opened = self.pos
        self.pos += 1
        found: list[Regular] = []
        while not self.text.startswith('"', self.pos):
            plain = _PLAIN.match(self.text, self.pos)
            if plain is not None:
                for i, character in enumerate(plain.group(), self.pos):
                    if "\ud800" <= character <= "\udfff":
                        self._fail_surrogate(i)
                    found.append(exact_character(character))
                self.pos = plain.end()
                continue
            start = self.pos
            if start == len(self.text):
                self.fail("this string is never closed: add '\"'", opened)
            code_point = self._escape(_ESCAPES, "a string")
            if 0xD800 <= code_point <= 0xDFFF:
                self._fail_surrogate(start)
            found.append(exact_character(chr(code_point)))
        self.pos += 1
        return concat(found)

    def _fail_surrogate(self, position: int) -> NoReturn:
        self.fail(
            "half of a surrogate pair is no character, so no text can spell it: "
            "write the character itself, or \\U with its eight digits",
            position,
        )

    def _class(self) -> Regular:
        opened = self.pos
        self.pos += 1
        negated = self.text.startswith("^", self.pos)
        self.pos += negated
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.pos):
            start = self.pos
            first = last = self._class_character(opened)
            following = self.text[self.pos : self.pos + 2]
            if following.startswith("-") and following != "-]":
                self.pos += 1
                last = self._class_character(opened)
                if last < first:
                    self.fail(
                        f"the range {self.text[start : self.pos]!r} has its ends the wrong way "
                        "round: write the lower one first",
                        start,
                    )
            ranges.append((first, last))
        self.pos += 1
        if not ranges:
            instead = "'.' for any character" if negated else 'at least one character, or ""'
            self.fail(f"this class is empty: write {instead}", opened)
        members = CharSet.of(ranges)
        if negated:
            members = members.complement()
        if not members:
            self.fail("no character is in this class, so nothing can match", opened)
        return Chars(members)

    def _class_character(self, opened: int) -> int:
        if self.pos == len(self.text):
            self.fail("this '[' is never closed: add ']'", opened)
        character = self.text[self.pos]
        if character == "\\":
            return self._escape(_CLASS_ESCAPES, "a class")
        self.pos += 1
        return ord(character)

    def _escape(self, known: dict[str, str], where: str) -> int:
        """Read an escape sequence -> code point."""
        start = self.pos
        letter = self.text[start + 1 : start + 2]
        self.pos += 2
        if letter in known and letter:
            return ord(known[letter])
        size = _HEX_ESCAPES.get(letter)
        if size is None:
            hint = "write '\\\\' for a backslash"
            if letter in "dsw" and letter:
                hint += ", or a class such as [0-9], [ \\t\\n] or [A-Za-z0-9_]"
            self.fail(f"'\\{letter}' is no escape sequence in {where}: {hint}", start)
        digits = _HEX.match(self.text[self.pos : self.pos + size])
        assert digits is not None
        if len(digits.group()) < size:
            self.fail(f"expected {size} hexadecimal digits after '\\{letter}'", start)
        self.pos += size
        value = int(digits.group(), 16)
        if value > MAX_CODE_POINT:
            self.fail(f"there is no character {value:X}: the highest is 10FFFF", start)
        return value


def _did_you_mean(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    if not near:
        near = [other for other in names if other.lower() == name.lower()]
    if near:
        return "; did you mean " + " or ".join(repr(other) for other in near) + "?"
    return ""
