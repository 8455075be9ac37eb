"""A slow, obvious matcher for grammars: the oracle that the token FSM is tested against.

``matches(grammar, data)`` asks whether the bytes belong to the grammar, by recursive descent
over *sets of positions*: ``_ends(expression, start)`` is the set of all places where a text of
the expression that begins at ``start`` can end. There is no lexer, no automaton product and no
token anywhere; each kind of node is a few lines that say what :mod:`maskwright.grammar.ir`
says. Rules are memoised by (key, start), which also makes it fast enough for real JSON texts.

It relies on what the IR guarantees (no left recursion), reads UTF-8 texts only (other bytes
never match) and needs time quadratic in the length for nasty grammars. Python's recursion
limit is raised while it runs; texts nested thousands deep are not what it is for.
"""

from __future__ import annotations

import sys
from bisect import bisect_right

from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.ir import (
    Captured,
    Chain,
    Choice,
    CountedString,
    Expr,
    Grammar,
    Key,
    Literal,
    Ref,
    Repeat,
    Sequence,
    StringLexeme,
    TextLexeme,
    UndeclaredKey,
)

__all__ = ["matches"]

_SHORT_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_HEX = frozenset("0123456789abcdefABCDEF")


def matches(grammar: Grammar, data: bytes, *, ordered: bool = True) -> bool:
    """Whether the whole of ``data`` is a text of the grammar.

    Args:
        ordered: with ``False``, the items of a chain may stand in any order, each at most once,
            between any number of ``rest``: what a schema means when the order of properties is
            left aside. Exponential in the number of members.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        return len(text) in _Matcher(grammar, text, ordered).ends(Ref(grammar.start), 0)
    finally:
        sys.setrecursionlimit(limit)


class _Matcher:
    def __init__(self, grammar: Grammar, text: str, ordered: bool) -> None:
        self.grammar = grammar
        self.ordered = ordered
        self.text = text
        self.rules: dict[tuple[Key, int], frozenset[int]] = {}

    def ends(self, expr: Expr, start: int) -> frozenset[int]:
        """Where a text of ``expr`` that begins at ``start`` can end."""
        text = self.text
        if isinstance(expr, Ref):
            found = self.rules.get((expr.key, start))
            if found is None:
                found = self.ends(self.grammar.rule(expr.key), start)
                self.rules[expr.key, start] = found
            return found
        if isinstance(expr, Literal):
            piece = expr.data.decode()
            return _only(start + len(piece) if text.startswith(piece, start) else None)
        if isinstance(expr, TextLexeme):
            return _text_ends(expr.language, text, start)
        if isinstance(expr, CountedString):
            end, value = _json_string(text, start, ascii_escapes=True)
            size = -1 if value is None else len(value)
            fits = size >= expr.min and (expr.max is None or size <= expr.max)
            return _only(end if fits else None)
        if isinstance(expr, StringLexeme):
            end, value = _json_string(text, start, ascii_escapes=False)
            return _only(end if value is not None and expr.language.accepts(value) else None)
        if isinstance(expr, UndeclaredKey):
            end, value = _json_string(text, start, ascii_escapes=False)
            return _only(end if value is not None and value not in expr.declared else None)
        if isinstance(expr, Sequence):
            positions = frozenset((start,))
            for i, item in enumerate(expr.items):
                following = expr.items[i + 1] if i + 1 < len(expr.items) else None
                if isinstance(following, Captured):
                    return frozenset().union(
                        *(self.captured(item, following, position) for position in positions)
                    )
                positions = self.after(positions, item)
            return positions
        if isinstance(expr, Choice):
            return frozenset().union(*(self.ends(option, start) for option in expr.options))
        if isinstance(expr, Repeat):
            return self.repeat_ends(expr, start)
        assert isinstance(expr, Chain)
        return self.chain_ends(expr, start) if self.ordered else self.set_ends(expr, start)

    def captured(self, value: Expr, captured: Captured, start: int) -> frozenset[int]:
        found: set[int] = set()
        for end in self.ends(value, start):
            key = self.grammar.after_value(captured.key, self.text[start:end].encode())
            found |= self.ends(Ref(key), end)
        return frozenset(found)

    def after(self, positions: frozenset[int], expr: Expr) -> frozenset[int]:
        return frozenset().union(*(self.ends(expr, position) for position in positions))

    def repeat_ends(self, expr: Repeat, start: int) -> frozenset[int]:
        found: set[int] = {start} if expr.min == 0 else set()
        if expr.max == 0:
            return frozenset(found)
        positions = self.ends(expr.item, start)
        seen: set[frozenset[int]] = set()
        count = 1
        while positions:
            if count >= expr.min:
                found |= positions
                # Without a maximum, the same positions again lead nowhere new.
                if positions in seen or count == expr.max:
                    break
                seen.add(positions)
            positions = self.after(self.after(positions, expr.separator), expr.item)
            count += 1
        return frozenset(found)

    def chain_ends(self, expr: Chain, start: int) -> frozenset[int]:
        nothing_yet = frozenset((start,))  # before the first item that is present
        some = frozenset()  # after at least one
        for item in expr.items:
            present = self.after(nothing_yet, item.expr) | self.after(
                self.after(some, expr.separator), item.expr
            )
            if item.required:
                nothing_yet, some = frozenset(), present
            else:
                some = some | present
        if expr.rest is not None:
            fresh = self.after(nothing_yet, expr.rest) | self.after(
                self.after(some, expr.separator), expr.rest
            )
            while fresh - some:
                some = some | fresh
                fresh = self.after(self.after(fresh, expr.separator), expr.rest)
        return nothing_yet | some

    def set_ends(self, expr: Chain, start: int) -> frozenset[int]:
        required = frozenset(i for i, item in enumerate(expr.items) if item.required)
        # (position, items used, whether nothing came before)
        pending = [(start, frozenset[int](), True)]
        seen = set(pending)
        while pending:
            position, used, first = pending.pop()
            for begin in (position,) if first else self.ends(expr.separator, position):
                found = [
                    (end, used | {i}, False)
                    for i, item in enumerate(expr.items)
                    if i not in used
                    for end in self.ends(item.expr, begin)
                ]
                if expr.rest is not None:
                    found += [(end, used, False) for end in self.ends(expr.rest, begin)]
                for state in found:
                    if state not in seen:
                        seen.add(state)
                        pending.append(state)
        return frozenset(position for position, used, _ in seen if required <= used)


def _only(position: int | None) -> frozenset[int]:
    return frozenset() if position is None else frozenset((position,))


def _text_ends(language: CharDFA, text: str, start: int) -> frozenset[int]:
    cuts, classes = language.cuts.tolist(), language.interval_class.tolist()
    state = 1
    found = {start} if language.accepting[state] else set()
    for position in range(start, len(text)):
        symbol = classes[bisect_right(cuts, ord(text[position])) - 1]
        state = int(language.trans[state, symbol])
        if state == 0:
            break
        if language.accepting[state]:
            found.add(position + 1)
    return frozenset(found)


def _json_string(text: str, start: int, *, ascii_escapes: bool) -> tuple[int | None, str | None]:
    """The JSON string at ``start``: where it ends and its value, or nothing.

    Args:
        ascii_escapes: whether ``\\u0041`` is a spelling of ``A``.
    """
    if not text.startswith('"', start):
        return None, None
    value: list[str] = []
    i = start + 1
    while i < len(text):
        char = text[i]
        if char == '"':
            return i + 1, "".join(value)
        if char < " ":
            return None, None
        if char != "\\":
            value.append(char)
            i += 1
            continue
        kind = text[i + 1 : i + 2]
        if kind in _SHORT_ESCAPES and kind:
            value.append(_SHORT_ESCAPES[kind])
            i += 2
            continue
        unit = _hex_unit(text, i)
        if unit is None:
            return None, None
        i += 6
        if 0xD800 <= unit < 0xDC00:
            low = _hex_unit(text, i)
            if low is None or not 0xDC00 <= low < 0xE000:
                return None, None
            i += 6
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        elif 0xDC00 <= unit < 0xE000 or (0x20 <= unit < 0x7F and not ascii_escapes):
            return None, None
        value.append(chr(unit))
    return None, None


def _hex_unit(text: str, i: int) -> int | None:
    digits = text[i + 2 : i + 6]
    if text[i : i + 2] != "\\u" or len(digits) != 4 or not _HEX.issuperset(digits):
        return None
    return int(digits, 16)
