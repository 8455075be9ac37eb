"""The dialect of ECMA-262, which JSON Schema patterns are written in.

Characters are code points, as with the flag ``u`` (``\\u{…}``, ``\\p{…}``, surrogate pairs as
one character, case ignored by simple folding); the syntax is that of browsers without it
(Annex B): escaped punctuation, lone ``{``, ``}`` and ``]``, a hyphen next to a class, octal
escapes. This is what the patterns of real schemas need together.

Three deliberate differences:

* a letter escape without a meaning here (``\\A \\Z \\z \\h \\R \\a``, ``\\x`` without digits, …)
  is an error as with ``u``, not that letter: it is always meant for another dialect;
* ``(?i)``, ``(?m)``, ``(?s)`` at the very start are accepted for the whole pattern; ECMA-262
  only has the form ``(?i:…)``;
* a lone surrogate matches nothing, since it is no Unicode scalar value.

Source: ECMA-262 (2025), section 22.2 and annex B.1.2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

from ..regular import ANY_CHAR, Assert, CharSet, Regular
from .anchors import END, START
from .case_folding import simple_folding
from .classes import ECMA_LINE_TERMINATORS, ecma_class
from .parser import Count, Modes, PatternParser
from .tree import exact_character, one_of
from .unicode_data import PropertyLookupError, unicode_property

__all__ = ["EcmaParser", "ecma_modes"]

_SPECIAL = frozenset("\\.[(){*+?^$|")
_CONTROL_ESCAPES = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MODE_LETTERS = {"i": "ignore_case", "m": "multi_line", "s": "dot_all"}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_ELSEWHERE = {
    "A": "write '^' for the start of the text",
    "Z": "write '$' for the end of the text",
    "z": "write '$' for the end of the text",
    "a": "write '\\x07' for the bell character",
    "e": "write '\\x1B' for the escape character",
    "h": "write '[ \\t]' for horizontal space",
    "R": "write '(?:\\r\\n|\\n|\\r)' for a line break",
    "U": "write '\\u{…}' for a character by its number",
}


def ecma_modes(flags: str) -> Modes:
    """The modes of flag letters, e.g. ``"im"``. Raises ``ValueError`` naming a wrong letter.

    ``u`` is accepted and changes nothing.
    """
    modes = Modes()
    for letter in flags:
        if letter == "u":
            continue
        if letter not in _MODE_LETTERS:
            raise ValueError(f"unknown flag {letter!r} for an ECMA-262 pattern: use i, m, s, u")
        modes = replace(modes, **{_MODE_LETTERS[letter]: True})
    return modes


class EcmaParser(PatternParser):
    """One parse of an ECMA-262 pattern."""

    dialect = "ECMA-262"
    has_possessive = False
    repeats_lookbehind = False

    def __init__(self, pattern: str, modes: Modes, pointer: str | None) -> None:
        self._group_count: int | None = None
        super().__init__(pattern, modes, pointer)

    def enter_modes(self, modes: Modes) -> None:
        self.modes = modes
        self.special = _SPECIAL
        self.literal = _caseless if modes.ignore_case else exact_character

    def dot(self) -> Regular:
        return _dot(self.modes.dot_all)

    def caret(self) -> Regular:
        return Assert("line_start", ECMA_LINE_TERMINATORS) if self.modes.multi_line else START

    def dollar(self) -> Regular:
        return Assert("line_end", ECMA_LINE_TERMINATORS) if self.modes.multi_line else END

    def read_layout(self, character: str) -> None:
        raise AssertionError(f"{character!r} is not special in this dialect")

    def read_count(self) -> Count | None:
        text, start = self.text, self.pos
        self.pos += 1
        low = self.digits()
        high: str | None = None
        if low and text.startswith(",", self.pos):
            self.pos += 1
            high = self.digits()
        if low and text.startswith("}", self.pos):
            self.pos += 1
            return self.count_of(low, high, start)
        self.pos = start
        return None

    # -- escapes -----------------------------------------------------------------------------

    def read_escape(self) -> None:
        start = self.pos
        letter = self.text[start + 1 : start + 2]
        if letter and letter in "bB":
            self.pos += 2
            words = ecma_class("w", ignore_case=self.modes.ignore_case)
            self.append_assertion(
                Assert("word_boundary" if letter == "b" else "not_word_boundary", words)
            )
            return
        if letter == "k":
            self.fail_backreference("\\k", start)
        if letter and letter in "123456789":
            end = start + 2
            while end < len(self.text) and self.text[end] in "0123456789":
                end += 1
            number = self.text[start + 1 : end]
            # The number of groups is below the length of the text.
            if len(number) < 10 and int(number) <= self._groups():
                self.fail_backreference(f"\\{number}", start)
        member = self._escape(start)
        if isinstance(member, str):
            self.append(self.literal(member))
        elif self.modes.ignore_case:
            self.append(one_of(simple_folding().close(member)))
        else:
            self.append(one_of(member))

    def _escape(self, start: int) -> str | CharSet:
        """The character or the set of the escape at ``start``, inside or outside of a class."""
        text = self.text
        letter = text[start + 1 : start + 2]
        if not letter:
            self.fail("the pattern ends in a backslash: write '\\\\' for the character", start)
        self.pos = start + 2
        if letter in "dDwWsS":
            return ecma_class(letter, ignore_case=self.modes.ignore_case)
        if letter in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[letter]
        if letter in "01234567":
            return self._octal(start)
        if letter in "pP":
            return self._property(letter, start)
        if letter == "u":
            return self._unicode_escape(start)
        if letter == "x":
            return chr(self._fixed_hexadecimal(2, start))
        if letter == "c":
            control = text[self.pos : self.pos + 1]
            if not (control.isascii() and control.isalpha()):
                self.fail("'\\c' needs a letter after it: write '\\\\c' for a backslash", start)
            self.pos += 1
            return chr(ord(control) % 32)
        if letter.isascii() and letter.isalpha():
            advice = _ELSEWHERE.get(letter, f"write '{letter}' for the letter")
            self.fail(f"'\\{letter}' has no meaning in this dialect: {advice}", start)
        return letter

    def _octal(self, start: int) -> str:
        """``\\0`` and Annex B's octal numbers: up to three digits, up to 377."""
        end = start + 2
        while end < min(start + 4, len(self.text)) and self.text[end] in "01234567":
            if int(self.text[start + 1 : end + 1], 8) > 0o377:
                break
            end += 1
        self.pos = end
        return chr(int(self.text[start + 1 : end], 8))

    def _unicode_escape(self, start: int) -> str:
        text = self.text
        if text.startswith("{", self.pos):
            end = text.find("}", self.pos)
            digits = text[self.pos + 1 : end] if end >= 0 else ""
            if not digits or not _HEX_DIGITS.issuperset(digits):
                self.fail("'\\u{' needs hexadecimal digits and '}' after it", start)
            self.pos = end + 1
            significant = digits.lstrip("0") or "0"
            if len(significant) > 6 or int(significant, 16) > 0x10FFFF:
                self.fail(f"'\\u{{{digits}}}' is above the last character, 10FFFF", start)
            return chr(int(significant, 16))
        high = self._fixed_hexadecimal(4, start)
        if 0xD800 <= high <= 0xDBFF and text.startswith("\\u", self.pos):
            digits = text[self.pos + 2 : self.pos + 6]
            if len(digits) == 4 and _HEX_DIGITS.issuperset(digits):
                low = int(digits, 16)
                if 0xDC00 <= low <= 0xDFFF:
                    self.pos += 6
                    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        return chr(high)

    def _fixed_hexadecimal(self, length: int, start: int) -> int:
        digits = self.text[self.pos : self.pos + length]
        if len(digits) < length or not _HEX_DIGITS.issuperset(digits):
            written = self.text[start : start + 2]
            self.fail(f"'{written}' needs {length} hexadecimal digits after it", start)
        self.pos += length
        return int(digits, 16)

    def _property(self, letter: str, start: int) -> CharSet:
        end = self.text.find("}", self.pos)
        if not self.text.startswith("{", self.pos) or end < 0:
            self.fail(
                f"'\\{letter}' needs the name of a Unicode property in braces, e.g. \\p{{Lu}}",
                start,
            )
        try:
            characters = unicode_property(self.text[self.pos + 1 : end])
        except PropertyLookupError as error:
            self.fail(error.args[0], start)
        self.pos = end + 1
        return characters if letter == "p" else characters.complement()

    def _groups(self) -> int:
        """How many capturing groups the whole pattern has."""
        if self._group_count is None:
            self._group_count = _count_groups(self.text)
        return self._group_count

    # -- classes -----------------------------------------------------------------------------

    def read_class(self) -> Regular:
        text, start = self.text, self.pos
        self.pos += 1
        negated = text.startswith("^", self.pos)
        if negated:
            self.pos += 1
        ranges: list[tuple[int, int]] = []
        while not text.startswith("]", self.pos):
            member_start = self.pos
            low = self._class_member(start)
            if text.startswith("-", self.pos) and not text.startswith("-]", self.pos):
                self.pos += 1
                high = self._class_member(start)
                if isinstance(low, str) and isinstance(high, str):
                    if low > high:
                        self.fail(f"the range {low}-{high} is the wrong way round", member_start)
                    ranges.append((ord(low), ord(high)))
                    continue
                # Next to a class the hyphen is itself (Annex B).
                ranges.append((0x2D, 0x2D))
                ranges.extend(_ranges(high))
            ranges.extend(_ranges(low))
        self.pos += 1
        characters = CharSet.of(ranges)
        if self.modes.ignore_case:
            characters = simple_folding().close(characters)
        return one_of(characters.complement() if negated else characters)

    def _class_member(self, class_start: int) -> str | CharSet:
        start = self.pos
        character = self.text[start : start + 1]
        if not character:
            self.fail("this '[' is never closed: add ']', or write '\\['", class_start)
        if character != "\\":
            self.pos += 1
            return character
        if self.text.startswith("b", start + 1):
            self.pos += 2
            return "\b"
        return self._escape(start)

    # -- groups ------------------------------------------------------------------------------

    def read_extension(self, start: int) -> None:
        text = self.text
        opener = text[self.pos : self.pos + 1]
        following = text[self.pos + 1 : self.pos + 2]
        if opener == ":":
            self.pos += 1
            self.open_group(start)
        elif opener and opener in "=!":
            self.pos += 1
            self.open_group(start, kind="ahead", negative=opener == "!")
        elif opener == "<" and following and following in "=!":
            self.pos += 2
            self.open_group(start, kind="behind", negative=following == "!")
        elif opener == "<":
            end = text.find(">", self.pos)
            name = text[self.pos + 1 : end] if end >= 0 else ""
            if not name.replace("$", "_").isidentifier():
                self.fail("the name of a group must be an identifier followed by '>'", start)
            self.pos = end + 1
            self.open_group(start)
        elif opener and (opener in _MODE_LETTERS or opener == "-"):
            self._read_modifiers(start)
        elif opener == "P" and following == "<":
            self.fail("a named group is written '(?<name>…)' in this dialect", start)
        elif opener == ">":
            self.fail("this dialect has no atomic groups: write '(?:'", start)
        elif opener == "(":
            self.fail(
                "a conditional group is not supported: write both cases as alternatives", start
            )
        elif opener == "#":
            self.fail("this dialect has no comments: leave it out", start)
        else:
            self.fail(f"unknown group '(?{opener}': write '(?:' for a group without capture", start)

    def _read_modifiers(self, start: int) -> None:
        """``(?ims-ims:``, and ``(?ims)`` at the very start."""
        on = self._modifier_letters()
        off = ""
        if self.text.startswith("-", self.pos):
            self.pos += 1
            off = self._modifier_letters()
        written = self.text[start : self.pos]
        if len(set(on + off)) < len(on + off) or not on + off:
            self.fail(f"each flag may stand once in '{written}'", start)
        if self.text.startswith(")", self.pos) and start == 0 and not off:
            self.pos += 1
            self.enter_modes(self._changed(on, off))
        elif self.text.startswith(":", self.pos):
            self.pos += 1
            self.open_group(start, modes=self._changed(on, off))
        else:
            self.fail(
                f"flags are written '{written}:…)' around what they apply to, "
                "with the letters i, m and s",
                start,
            )

    def _modifier_letters(self) -> str:
        begin = self.pos
        while self.pos < len(self.text) and self.text[self.pos] in _MODE_LETTERS:
            self.pos += 1
        return self.text[begin : self.pos]

    def _changed(self, on: str, off: str) -> Modes:
        changes = {_MODE_LETTERS[letter]: letter in on for letter in on + off}
        return replace(self.modes, **changes)


def _ranges(member: str | CharSet) -> tuple[tuple[int, int], ...]:
    return ((ord(member), ord(member)),) if isinstance(member, str) else member.ranges


def _count_groups(pattern: str) -> int:
    """Capturing groups: unescaped parentheses outside of classes, plain or named."""
    count = 0
    position = 0
    in_class = False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            named = pattern.startswith("(?<", position) and pattern[position + 3 : position + 4]
            if not pattern.startswith("(?", position) or (named and named not in "=!"):
                count += 1
        position += 1
    return count


@cache
def _dot(dot_all: bool) -> Regular:
    return ANY_CHAR if dot_all else one_of(ECMA_LINE_TERMINATORS.complement())


@lru_cache(maxsize=4096)
def _caseless(character: str) -> Regular:
    return one_of(simple_folding().close(CharSet.single(ord(character))))
