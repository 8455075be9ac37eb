"""The dialect of Python's :mod:`re` for ``str`` patterns, as of Python 3.11.

Differences from ``re``, none of which changes what a pattern accepted by both matches:

* lookbehinds may have any width;
* backreferences and conditionals are errors, and so are atomic groups and possessive
  quantifiers except where their meaning does not depend on backtracking;
* ``\\B`` matches in the empty text, as it does from Python 3.14 on.

``re.IGNORECASE`` applies to literals and ranges but not to ``\\w`` and its kin, as there.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import cache, lru_cache

from ..regular import Assert, CharSet, Regular
from .anchors import END, FINAL_LINE, START
from .case_folding import CasePartition, ascii_ignore_case, python_ignore_case
from .classes import PYTHON_LINE_TERMINATORS, python_class
from .parser import Count, Modes, PatternParser
from .tree import exact_character, one_of

__all__ = ["PythonParser", "python_modes"]

_SPECIAL = frozenset("\\.[(){*+?^$|")
_VERBOSE_SPECIAL = _SPECIAL | frozenset(" \t\n\r\v\f#")
_CONTROL_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}
_MODE_LETTERS = {
    "i": "ignore_case", "m": "multi_line", "s": "dot_all", "x": "verbose", "a": "ascii",
}  # fmt: skip
_FLAG_LETTERS = frozenset("imsxauL")


def python_modes(flags: str) -> Modes:
    """The modes of flag letters, e.g. ``"im"``. Raises ``ValueError`` naming a wrong letter."""
    modes = Modes()
    for letter in flags:
        if letter == "u":
            continue
        if letter not in _MODE_LETTERS:
            raise ValueError(f"unknown flag {letter!r} for a Python pattern: use i, m, s, x, a")
        modes = replace(modes, **{_MODE_LETTERS[letter]: True})
    return modes


class PythonParser(PatternParser):
    """One parse of a Python pattern."""

    dialect = "Python"
    has_possessive = True
    repeats_lookbehind = True

    def __init__(self, pattern: str, modes: Modes, pointer: str | None) -> None:
        self._names: set[str] = set()
        super().__init__(pattern, modes, pointer)

    def enter_modes(self, modes: Modes) -> None:
        self.modes = modes
        self.special = _VERBOSE_SPECIAL if modes.verbose else _SPECIAL
        if not modes.ignore_case:
            self.literal = exact_character
        else:
            self.literal = _ascii_caseless if modes.ascii else _caseless

    def dot(self) -> Regular:
        return _dot(self.modes.dot_all)

    def caret(self) -> Regular:
        return Assert("line_start", PYTHON_LINE_TERMINATORS) if self.modes.multi_line else START

    def dollar(self) -> Regular:
        return Assert("line_end", PYTHON_LINE_TERMINATORS) if self.modes.multi_line else FINAL_LINE

    def read_layout(self, character: str) -> None:
        if character == "#":
            end = self.text.find("\n", self.pos)
            self.pos = len(self.text) if end < 0 else end + 1
        else:
            self.pos += 1

    def read_count(self) -> Count | None:
        text, start = self.text, self.pos
        self.pos += 1
        if not text.startswith("}", self.pos):
            low = self.digits()
            high: str | None = None
            if text.startswith(",", self.pos):
                self.pos += 1
                high = self.digits()
            if text.startswith("}", self.pos):
                self.pos += 1
                return self.count_of(low, high, start)
        self.pos = start
        return None

    # -- escapes -----------------------------------------------------------------------------

    def read_escape(self) -> None:
        start = self.pos
        letter = self.text[start + 1 : start + 2]
        if letter and letter in "dDwWsS":
            self.pos += 2
            self.append(one_of(python_class(letter, ascii=self.modes.ascii)))
        elif letter and letter in "bB":
            self.pos += 2
            words = python_class("w", ascii=self.modes.ascii)
            kind = Assert("word_boundary" if letter == "b" else "not_word_boundary", words)
            self.append_assertion(kind)
        elif letter == "A":
            self.pos += 2
            self.append_assertion(START)
        elif letter == "Z":
            self.pos += 2
            self.append_assertion(END)
        elif letter and letter in "123456789":
            self.append(self.literal(self._numbered_escape(start)))
        else:
            self.append(self.literal(self._character_escape(start)))

    def _numbered_escape(self, start: int) -> str:
        """``\\101``; what is not three octal digits refers to a group."""
        digits = self.text[start + 1 : start + 4]
        if len(digits) == 3 and all(digit in "01234567" for digit in digits):
            self.pos = start + 4
            return self._octal(digits, start)
        self.fail_backreference(self.text[start : start + 2], start)

    def _octal(self, digits: str, start: int) -> str:
        value = int(digits, 8)
        if value > 0o377:
            self.fail(f"the octal escape '\\{digits}' is above \\377: write \\u....", start)
        return chr(value)

    def _character_escape(self, start: int) -> str:
        """The single character that the escape at ``start`` stands for."""
        text = self.text
        letter = text[start + 1 : start + 2]
        if not letter:
            self.fail("the pattern ends in a backslash: write '\\\\' for the character", start)
        self.pos = start + 2
        if letter in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[letter]
        if letter == "0":
            while self.pos < min(start + 4, len(text)) and text[self.pos] in "01234567":
                self.pos += 1
            return self._octal(text[start + 1 : self.pos], start)
        if letter in _HEX_LENGTHS:
            return self._hexadecimal(letter, start)
        if letter == "N":
            return self._named_character(start)
        if letter in "pP":
            self.fail(
                "Python patterns have no Unicode properties: write the characters as a class, "
                "e.g. '[^\\W\\d_]' for letters",
                start,
            )
        if letter.isascii() and letter.isalnum():
            self.fail(f"unknown escape '\\{letter}': write '{letter}' for the character", start)
        return letter

    def _hexadecimal(self, letter: str, start: int) -> str:
        length = _HEX_LENGTHS[letter]
        digits = self.text[self.pos : self.pos + length]
        if len(digits) < length or any(d not in "0123456789abcdefABCDEF" for d in digits):
            self.fail(f"'\\{letter}' needs {length} hexadecimal digits", start)
        self.pos += length
        code_point = int(digits, 16)
        if code_point > 0x10FFFF:
            self.fail(f"'\\{letter}{digits}' is above the last character, 10FFFF", start)
        return chr(code_point)

    def _named_character(self, start: int) -> str:
        end = self.text.find("}", self.pos)
        if not self.text.startswith("{", self.pos) or end < 0:
            self.fail("'\\N' needs the name of a character in braces", start)
        name = self.text[self.pos + 1 : end]
        try:
            character = unicodedata.lookup(name)
        except KeyError:
            self.fail(f"there is no character named {name!r}", start)
        if len(character) > 1:
            self.fail(f"{name!r} names a sequence of characters: write them one by one", start)
        self.pos = end + 1
        return character

    # -- classes -----------------------------------------------------------------------------

    def read_class(self) -> Regular:
        text, start = self.text, self.pos
        self.pos += 1
        negated = text.startswith("^", self.pos)
        if negated:
            self.pos += 1
        first = self.pos
        ranges: list[tuple[int, int]] = []
        named: list[tuple[int, int]] = []
        while True:
            # A ']' is an ordinary character right after the opening.
            if text.startswith("]", self.pos) and self.pos > first:
                self.pos += 1
                break
            member_start = self.pos
            low = self._class_member(start)
            if text.startswith("-", self.pos) and not text.startswith("-]", self.pos):
                self.pos += 1
                high = self._class_member(start)
                if not isinstance(low, str) or not isinstance(high, str):
                    self.fail(
                        "a range cannot begin or end with a class: write '\\-' for the hyphen",
                        member_start,
                    )
                if low > high:
                    self.fail(f"the range {low}-{high} is the wrong way round", member_start)
                ranges.append((ord(low), ord(high)))
            elif isinstance(low, str):
                ranges.append((ord(low), ord(low)))
            else:
                named.extend(low.ranges)
        characters = CharSet.of(ranges)
        if self.modes.ignore_case:
            characters = _partition(ascii=self.modes.ascii).close(characters)
        if named:
            characters = CharSet.of((*characters.ranges, *named))
        return one_of(characters.complement() if negated else characters)

    def _class_member(self, class_start: int) -> str | CharSet:
        start = self.pos
        character = self.text[start : start + 1]
        if not character:
            self.fail("this '[' is never closed: add ']', or write '\\['", class_start)
        if character != "\\":
            self.pos += 1
            return character
        letter = self.text[start + 1 : start + 2]
        if letter and letter in "dDwWsS":
            self.pos += 2
            return python_class(letter, ascii=self.modes.ascii)
        if letter and letter in "1234567":
            self.pos = start + 2
            while self.pos < min(start + 4, len(self.text)) and self.text[self.pos] in "01234567":
                self.pos += 1
            return self._octal(self.text[start + 1 : self.pos], start)
        return self._character_escape(start)

    # -- groups ------------------------------------------------------------------------------

    def read_extension(self, start: int) -> None:
        text = self.text
        opener = text[self.pos : self.pos + 1]
        following = text[self.pos + 1 : self.pos + 2]
        if opener == ":":
            self.pos += 1
            self.open_group(start)
        elif opener == "P" and following == "<":
            self.pos += 2
            self._read_name(start)
            self.open_group(start)
        elif opener == "P" and following == "=":
            self.fail_backreference(text[start : text.find(")", start) + 1] or "(?P=", start)
        elif opener and opener in "=!":
            self.pos += 1
            self.open_group(start, kind="ahead", negative=opener == "!")
        elif opener == "<" and following and following in "=!":
            self.pos += 2
            self.open_group(start, kind="behind", negative=following == "!")
        elif opener == "#":
            end = text.find(")", self.pos)
            if end < 0:
                self.fail("this comment is never closed: add ')'", start)
            self.pos = end + 1
        elif opener == ">":
            self.pos += 1
            self.open_group(start, kind="atomic")
        elif opener == "(":
            self.fail(
                "a conditional group is not supported: write both cases as alternatives", start
            )
        elif opener and (opener in _FLAG_LETTERS or opener == "-"):
            self._read_flags(start)
        elif opener == "<":
            self.fail("a named group is written '(?P<name>…)'", start)
        else:
            self.fail(f"unknown group '(?{opener}': write '(?:' for a group without capture", start)

    def _read_name(self, start: int) -> None:
        end = self.text.find(">", self.pos)
        name = self.text[self.pos : end] if end >= 0 else ""
        if not name.isidentifier():
            self.fail("the name of a group must be an identifier followed by '>'", start)
        if name in self._names:
            self.fail(f"there is another group named {name!r}: rename one", start)
        self._names.add(name)
        self.pos = end + 1

    def _read_flags(self, start: int) -> None:
        """``(?flags)`` for the whole pattern, or ``(?flags-flags:`` for a group."""
        on = self._flag_letters(start)
        off = ""
        character = self.text[self.pos : self.pos + 1]
        if character == ")":
            if not self.at_start():
                self.fail(
                    "flags for the whole pattern must be at its start: "
                    f"move '(?{on})' there, or write '(?{on}:…)'",
                    start,
                )
            self.pos += 1
            self.enter_modes(self._changed(on, True, self.modes))
            return
        if character == "-":
            self.pos += 1
            off = self._flag_letters(start)
            if not off or set(off) & set("auL") or set(on) & set(off):
                self.fail("only i, m, s and x can be switched off, after a '-'", start)
        if not self.text.startswith(":", self.pos):
            self.fail("flags must be letters of 'imsxau' followed by ')' or ':'", start)
        self.pos += 1
        modes = self._changed(off, False, self._changed(on, True, self.modes))
        self.open_group(start, modes=modes)

    def _flag_letters(self, start: int) -> str:
        begin = self.pos
        while self.pos < len(self.text) and self.text[self.pos] in _FLAG_LETTERS:
            self.pos += 1
        letters = self.text[begin : self.pos]
        if "L" in letters:
            self.fail("the flag 'L' is for bytes: leave it out", start)
        if "a" in letters and "u" in letters:
            self.fail("the flags 'a' and 'u' exclude each other", start)
        return letters

    @staticmethod
    def _changed(letters: str, value: bool, modes: Modes) -> Modes:
        changes = {_MODE_LETTERS[letter]: value for letter in letters if letter != "u"}
        if "u" in letters:
            changes["ascii"] = False
        return replace(modes, **changes)


@cache
def _dot(dot_all: bool) -> Regular:
    excluded = CharSet(()) if dot_all else PYTHON_LINE_TERMINATORS
    return one_of(excluded.complement())


def _partition(*, ascii: bool) -> CasePartition:
    return ascii_ignore_case() if ascii else python_ignore_case()


@lru_cache(maxsize=4096)
def _caseless(character: str) -> Regular:
    return one_of(python_ignore_case().close(CharSet.single(ord(character))))


@lru_cache(maxsize=4096)
def _ascii_caseless(character: str) -> Regular:
    return one_of(ascii_ignore_case().close(CharSet.single(ord(character))))
