"""Which parts of the rules become lexemes: the larger, the better for masks, within bounds.

A grammar in GBNF has no lexer, and its rules go down to single characters. Left like this, every
character would be a lexeme, a text would have many parses alive, and no mask could be shared. So
what is regular is put together again:

1. a rule that calls only itself, at one end, is a loop (Arden, 1961): ``ws ::= ([ \\t] ws)?``;
2. a small regular rule is put in the place of its calls, callees first, so that its callers may
   become regular as well;
3. each maximal regular part is one automaton if that stays small. Otherwise it is taken apart
   again: its halves, its alternatives, the item that it repeats.

All of this is exact. The sizes are bounds on work, not on what can be expressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import LimitError
from ...limits import Limits
from ..automata.dfa import CharDFA
from ..ir import NOTHING, Choice, Expr, Key, Literal, Ref, Sequence, TextLexeme
from ..ir import Repeat as IrRepeat
from ..recursion import components
from ..regular import EMPTY, Chars, Concat, Regular, Repeat, Union
from .parts import (
    Alternatives,
    Call,
    Part,
    Repeated,
    Series,
    alternatives,
    calls_of,
    is_regular,
    repetition,
    series,
)

__all__ = ["LexemeBuilder", "with_regular_rules_inside"]

MAX_INSIDE = 200
"""Size of a rule that is put in the place of its calls (in copies, if there are several)."""

MAX_INSIDE_DEPTH = 30
"""How deep its tree may be nested; trees are walked recursively."""

MAX_LEXEME = 2_000
"""Size of a part that is tried as one automaton, and states that the automaton may have."""


def with_regular_rules_inside(rules: Mapping[Key, Part], root: Key) -> dict[Key, Part]:
    """The rules that the root needs, with small regular rules in the place of their calls."""
    calls = {key: dict.fromkeys(calls_of(part)) for key, part in rules.items()}
    result: dict[Key, Part] = {}
    inside: dict[Key, Regular] = {}
    for component in components(calls):
        for key in component:
            part = rules[key]
            if any(called in inside for called in calls[key]):
                part = _replaced(part, inside)
            if len(component) == 1 and key in calls[key]:
                part = _as_loop(key, part)
            result[key] = part
            if is_regular(part) and _fits(part, MAX_INSIDE, MAX_INSIDE_DEPTH):
                inside[key] = part
    needed = {root: result[root]}
    pending = [root]
    while pending:
        for called in calls_of(result[pending.pop()]):
            if called not in needed:
                needed[called] = result[called]
                pending.append(called)
    return needed


def _replaced(part: Part, inside: Mapping[Key, Regular]) -> Part:
    if isinstance(part, Call):
        return inside.get(part.key, part)
    if isinstance(part, Series):
        return series(_replaced(item, inside) for item in part.items)
    if isinstance(part, Alternatives):
        return alternatives(_replaced(option, inside) for option in part.options)
    if isinstance(part, Repeated):
        return repetition(_replaced(part.item, inside), part.min, part.max)
    return part


def _as_loop(key: Key, part: Part) -> Part:
    """``X ::= r X | X s | b`` as ``r* b s*`` if ``r``, ``s`` and ``b`` are regular."""
    itself = Call(key)
    before: list[Regular] = []
    after: list[Regular] = []
    bases: list[Regular] = []
    for option in _options(part):
        if is_regular(option):
            bases.append(option)
        elif isinstance(option, Series) and len(option.items) == 2:
            first, second = option.items
            if second == itself and is_regular(first):
                before.append(first)
            elif first == itself and is_regular(second):
                after.append(second)
            else:
                return part
        elif option != itself:
            return part
    if not bases:
        return part
    loops = [alternatives(loop) if loop else EMPTY for loop in (before, after)]
    first, second = (repetition(loop, 0, None) for loop in loops)
    return series([first, alternatives(bases), second])


def _options(part: Part) -> list[Part]:
    if isinstance(part, Alternatives):
        return [choice for option in part.options for choice in _options(option)]
    if isinstance(part, Repeated) and part.min <= 1 and part.max == 1:
        return [*_options(part.item), EMPTY]
    return [part]


def _fits(node: Regular, size: int, depth: int) -> bool:
    return _size(node, depth) <= size


def _size(node: Regular, depth: int | None = None) -> float:
    """Nodes of the automaton that a tree is laid out as; infinite if nested deeper than that."""
    if depth is not None:
        if depth < 0:
            return float("inf")
        depth -= 1
    if isinstance(node, Concat):
        return sum(_size(item, depth) for item in node.items)
    if isinstance(node, Union):
        return sum(1 + _size(option, depth) for option in node.options)
    if isinstance(node, Repeat):
        copies = node.max if node.max is not None else max(node.min, 1)
        return copies * (1 + _size(node.item, depth))
    return 1


def _text(node: Regular) -> str | None:
    """The one text that a tree plainly spells out."""
    letters: list[str] = []
    for item in node.items if isinstance(node, Concat) else (node,):
        if not isinstance(item, Chars):
            return None
        ranges = item.set.ranges
        if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
            return None
        letters.append(chr(ranges[0][0]))
    return "".join(letters)


class LexemeBuilder:
    """Turns parts into expressions of the IR."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._small = replace(
            limits,
            nfa_states=min(limits.nfa_states, 2 * MAX_LEXEME),
            dfa_states=min(limits.dfa_states, MAX_LEXEME),
        )
        self._known: dict[Regular, Expr] = {}

    def expression(self, part: Part) -> Expr:
        """The expression of a part, with regular parts as lexemes.

        Raises:
            LimitError: ``Limits`` do not allow the automaton of a single character or a text.
        """
        if isinstance(part, Call):
            return Ref(part.key)
        if isinstance(part, Series):
            return Sequence(tuple(self.expression(item) for item in part.items))
        if isinstance(part, Alternatives):
            return Choice(tuple(self.expression(option) for option in part.options))
        if isinstance(part, Repeated):
            return IrRepeat(self.expression(part.item), part.min, part.max)
        return self._regular(part)

    def _regular(self, node: Regular) -> Expr:
        text = _text(node)
        if text is not None:
            return Literal(text.encode()) if text else NOTHING
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._automaton(node) or self._taken_apart(node)
        return found

    def _automaton(self, node: Regular) -> Expr | None:
        """One lexeme, unless that would be large."""
        if isinstance(node, Chars):
            return TextLexeme(CharDFA.from_regular(node, limits=self._limits))
        if _size(node) > MAX_LEXEME:
            return None
        try:
            return TextLexeme(CharDFA.from_regular(node, limits=self._small))
        except LimitError:
            return None

    def _taken_apart(self, node: Regular) -> Expr:
        if isinstance(node, Repeat):
            return IrRepeat(self._regular(node.item), node.min, node.max)
        if isinstance(node, Concat):
            half = len(node.items) // 2
            return Sequence(
                tuple(self._regular(Concat(p)) for p in (node.items[:half], node.items[half:]))
            )
        assert isinstance(node, Union)
        return self._choice(node)

    def _choice(self, node: Union) -> Expr:
        """Texts as one automaton, which is linear in them; halves of the rest."""
        texts: list[str] = []
        others: list[Regular] = []
        for option in node.options:
            text = _text(option)
            if text is None:
                others.append(option)
            else:
                texts.append(text)
        options: list[Expr] = []
        if texts:
            options.append(TextLexeme(CharDFA.from_strings(texts)))
        half = len(others) // 2 if len(others) > 1 and not texts else len(others)
        for group in (others[:half], others[half:]):
            if group:
                options.append(self._regular(group[0] if len(group) == 1 else Union(tuple(group))))
        return options[0] if len(options) == 1 else Choice(tuple(options))
