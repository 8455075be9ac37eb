"""Prefixes of a grammar, byte by byte: the second oracle that the token FSM is tested against.

:mod:`ir_reference` decides whole texts; masks are about *prefixes*. A state here is the set of
all *stacks of what is still to come*: expressions of the IR, the one that comes next last. A
byte is taken by the leaf on top of a stack (a partial derivative in the sense of Antimirov,
1996). Leaves remember the bytes they were given and judge them as text: a lexeme may go on if
some whole character fits what is there. There are no numbered states, no lowered automata and
no tokens.

Relies on what the IR guarantees: everything matches something, nothing is left-recursive.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TypeAlias

from maskwright.grammar import ir
from maskwright.grammar.automata.dfa import CharDFA

__all__ = ["Prefixes"]

_ESCAPED = {
    0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09,
}  # fmt: skip
_HEX = frozenset(b"0123456789abcdefABCDEF")
_ALL = ((0, 0xD7FF), (0xE000, 0x10FFFF))
Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Items:
    """Items of a repeat that are still to come, ``count`` being there."""

    node: ir.Repeat
    count: int


@dataclass(frozen=True)
class _Members:
    """Items of a chain from ``index`` on, with or without one before them."""

    node: ir.Chain
    index: int
    some: bool


@dataclass(frozen=True)
class _Bytes:
    """The rest of a literal."""

    data: bytes


@dataclass(frozen=True)
class _Text:
    """Inside a text lexeme: the automaton's state and the bytes of a character begun."""

    language: CharDFA
    state: int
    begun: bytes


@dataclass(frozen=True)
class _String:
    """Inside a JSON string: ``language`` (``None``: any) and ``state``, or bounds on a length."""

    language: CharDFA | None
    state: int
    begun: bytes
    needed: int = 0
    allowed: int | None = None


_Stack: TypeAlias = tuple[object, ...]
States: TypeAlias = frozenset[_Stack]


class Prefixes:
    """``after(states, byte)``, from ``start`` on; no states means that nothing may follow."""

    def __init__(self, grammar: ir.Grammar) -> None:
        self.grammar = grammar
        self._known: dict[tuple[States, int], States] = {}
        self._languages: dict[frozenset[str], CharDFA] = {}
        self.start: States = self._expanded({(ir.Ref(grammar.start),)})

    def after(self, states: States, data: bytes) -> States:
        for byte in data:
            found = self._known.get((states, byte))
            if found is None:
                stepped = {
                    (*stack[:-1], *rest)
                    for stack in states
                    if stack
                    for rest in _take(stack[-1], byte)
                }
                found = self._known[states, byte] = self._expanded(stepped)
            states = found
            if not states:
                break
        return states

    def accepts(self, states: States) -> bool:
        """Whether nothing more need follow."""
        return () in states

    def _expanded(self, stacks: set[_Stack]) -> States:
        """Only stacks with a leaf on top, and the empty one."""
        pending = list(stacks)
        seen = set(pending)
        result: set[_Stack] = set()
        while pending:
            stack = pending.pop()
            if not stack or isinstance(stack[-1], (_Bytes, _Text, _String)):
                options: list[_Stack] = []
                if stack and isinstance(stack[-1], _Text) and not stack[-1].begun:
                    leaf = stack[-1]
                    if leaf.language.accepting[leaf.state]:
                        options.append(())
                result.add(stack)
            else:
                options = self._options(stack[-1])
            for option in options:
                following = (*stack[:-1], *option)
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return frozenset(stack for stack in result if not stack or _may_go_on(stack[-1]))

    def _options(self, expr: object) -> list[_Stack]:
        """What an expression may be replaced by, last part first."""
        if isinstance(expr, ir.Ref):
            return [(self.grammar.rule(expr.key),)]
        if isinstance(expr, ir.Literal):
            return [(_Bytes(expr.data),)] if expr.data else [()]
        if isinstance(expr, ir.TextLexeme):
            return [(_Text(expr.language, 1, b""),)]
        if isinstance(expr, ir.CountedString):
            return [(_String(None, 0, b"", expr.min, expr.max), _Bytes(b'"'))]
        if isinstance(expr, ir.StringLexeme):
            return [(_String(expr.language, 1, b""), _Bytes(b'"'))]
        if isinstance(expr, ir.UndeclaredKey):
            language = self._languages.get(expr.declared)
            if language is None:
                language = CharDFA.any_text().difference(CharDFA.from_strings(expr.declared))
                self._languages[expr.declared] = language
            return [(_String(language, 1, b""), _Bytes(b'"'))]
        if isinstance(expr, ir.Sequence):
            return [tuple(reversed(expr.items))]
        if isinstance(expr, ir.Choice):
            return [(option,) for option in expr.options]
        if isinstance(expr, ir.Repeat):
            return [(_Items(expr, 0),)]
        if isinstance(expr, ir.Chain):
            return [(_Members(expr, 0, False),)]
        if isinstance(expr, _Items):
            return _items_options(expr)
        assert isinstance(expr, _Members)
        return _members_options(expr)


def _items_options(expr: _Items) -> list[_Stack]:
    node, count = expr.node, expr.count
    options: list[_Stack] = [()] if count >= node.min else []
    if node.max is None or count < node.max:
        # Without a maximum, items beyond the minimum need not be told apart.
        more = count + 1 if node.max is not None else min(count + 1, max(node.min, 1))
        separator = (node.separator,) if count else ()
        options.append((_Items(node, more), node.item, *separator))
    return options


def _members_options(expr: _Members) -> list[_Stack]:
    node = expr.node
    separator = (node.separator,) if expr.some else ()
    options: list[_Stack] = []
    for index in range(expr.index, len(node.items)):
        item = node.items[index]
        options.append((_Members(node, index + 1, True), item.expr, *separator))
        if item.required:
            return options
    if node.rest is not None:
        options.append((_Members(node, len(node.items), True), node.rest, *separator))
    return [*options, ()]


# ---------------------------------------------------------------------------- leaves


def _take(leaf: object, byte: int) -> list[_Stack]:
    """What a leaf becomes on a byte; nothing if it does not fit."""
    if isinstance(leaf, _Bytes):
        if leaf.data[0] != byte:
            return []
        return [(_Bytes(leaf.data[1:]),)] if len(leaf.data) > 1 else [()]
    if isinstance(leaf, _Text):
        begun = leaf.begun + bytes((byte,))
        character = _decoded(begun)
        if character is None:
            return [(replace(leaf, begun=begun),)]
        state = _advance(leaf.language, leaf.state, character)
        return [(replace(leaf, state=state, begun=b""),)] if state else []
    assert isinstance(leaf, _String)
    if not leaf.begun and byte == 0x22:
        complete = (
            leaf.needed == 0 if leaf.language is None else leaf.language.accepting[leaf.state]
        )
        return [()] if complete else []
    begun = leaf.begun + bytes((byte,))
    character = _unescaped(begun, ascii_too=leaf.language is None)
    if character is None:
        return [(replace(leaf, begun=begun),)]
    if leaf.language is not None:
        state = _advance(leaf.language, leaf.state, character)
        return [(replace(leaf, state=state, begun=b""),)] if state else []
    if leaf.allowed == 0:
        return []
    allowed = None if leaf.allowed is None else leaf.allowed - 1
    return [(replace(leaf, needed=max(leaf.needed - 1, 0), allowed=allowed, begun=b""),)]


def _may_go_on(leaf: object) -> bool:
    """Whether some whole character (or the end) fits the bytes that a leaf was given."""
    if isinstance(leaf, _Bytes):
        return True
    assert isinstance(leaf, (_Text, _String))
    if isinstance(leaf, _Text):
        ranges = _utf8_candidates(leaf.begun)
    elif not leaf.begun:
        return True  # the automata are trimmed: it closes here or goes on
    else:
        ranges = _string_candidates(leaf.begun, ascii_too=leaf.language is None)
    if isinstance(leaf, _String) and leaf.language is None:
        return bool(ranges) and leaf.allowed != 0
    assert leaf.language is not None
    return _any_leads_on(leaf.language, leaf.state, ranges)


@lru_cache(maxsize=100_000)
def _any_leads_on(language: CharDFA, state: int, ranges: Ranges) -> bool:
    starts = [*language.cuts.tolist(), 0x110000]
    return any(
        language.trans[state, language.interval_class[i]] != 0
        for i in range(len(starts) - 1)
        if any(first < starts[i + 1] and starts[i] <= last for first, last in ranges)
    )


def _advance(language: CharDFA, state: int, character: int) -> int:
    interval = bisect_right(language.cuts.tolist(), character) - 1
    return int(language.trans[state, language.interval_class[interval]])


def _decoded(data: bytes) -> int | None:
    """The character that UTF-8 bytes spell, if they are a whole one."""
    try:
        return ord(data.decode())
    except (UnicodeDecodeError, TypeError):
        return None


@cache
def _utf8_candidates(begun: bytes) -> Ranges:
    """Characters whose UTF-8 begins with these bytes and is longer."""
    if not begun:
        return _ALL
    # UTF-8 keeps the order of code points, so they are one range (less the surrogates).
    result = []
    for low, high in ((0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)):
        size = len(chr(low).encode())
        if len(begun) < size:
            first = _first_from(begun, low, high)
            last = _first_from(begun + b"\xff", low, high) - 1
            if first <= last:
                result.append((first, last))
    return tuple(result)


def _first_from(bound: bytes, low: int, high: int) -> int:
    """The first character of a range whose UTF-8 is not below ``bound`` (bisection)."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        if chr(middle).encode() < bound:
            low = middle + 1
        else:
            high = middle
    return low


def _unescaped(data: bytes, *, ascii_too: bool) -> int | None:
    """The character that bytes spell inside a JSON string, if they are a whole one."""
    if data[0] != 0x5C:
        return None if data[0] < 0x20 else _decoded(data)
    if len(data) == 2:
        return _ESCAPED.get(data[1])
    unit = _unit(data[:6])
    if unit is None or _is_printable(unit, ascii_too):
        return None
    if not 0xD800 <= unit < 0xE000:
        return unit if len(data) == 6 else None
    low = _unit(data[6:])
    if unit >= 0xDC00 or low is None or not 0xDC00 <= low < 0xE000:
        return None
    return 0x10000 + (unit - 0xD800) * 0x400 + low - 0xDC00


def _is_printable(unit: int, ascii_too: bool) -> bool:
    return not ascii_too and 0x20 <= unit <= 0x7E


def _unit(data: bytes) -> int | None:
    digits = data[2:]
    if data[:2] != b"\\u" or len(digits) != 4 or not _HEX.issuperset(digits):
        return None
    return int(digits, 16)


@cache
def _string_candidates(begun: bytes, *, ascii_too: bool) -> Ranges:
    """Characters with a spelling in JSON strings that begins with these bytes and is longer."""
    if begun[0] < 0x20:
        return ()
    if begun[0] != 0x5C:
        return _utf8_candidates(begun)
    if begun[:2] not in (b"\\", b"\\u"):
        return ()
    units = _units(begun[:6])
    result: list[tuple[int, int]] = []
    if begun == b"\\":
        result += [(value, value) for value in _ESCAPED.values()]
    if len(begun) < 6:
        for first, last in units:
            pieces = [(first, min(last, 0xD7FF)), (max(first, 0xE000), last)]
            if not ascii_too:
                pieces += [(first, min(last, 0x1F)), (max(first, 0x7F), min(last, 0xD7FF))]
                del pieces[0]
            result += [(a, b) for a, b in pieces if a <= b]
    for first, last in units:
        for high in range(max(first, 0xD800), min(last, 0xDBFF) + 1):
            for low_first, low_last in _units(begun[6:]):
                a, b = max(low_first, 0xDC00), min(low_last, 0xDFFF)
                if a <= b:
                    base = 0x10000 + (high - 0xD800) * 0x400 - 0xDC00
                    result.append((base + a, base + b))
    return tuple(result)


def _units(begun: bytes) -> Ranges:
    """The code units of ``\\uXXXX`` escapes that begin with these bytes."""
    if begun in (b"", b"\\", b"\\u"):
        return ((0, 0xFFFF),)
    digits = begun[2:]
    if begun[:2] != b"\\u" or not _HEX.issuperset(digits):
        return ()
    if len(digits) > 4:
        return ()
    return ((int(digits.ljust(4, b"0"), 16), int(digits.ljust(4, b"f"), 16)),)
