"""From rules over terminals to rules over texts, from context to context.

A context is known only from the left, so each rule is expanded once for each context that it
can be entered in, and its texts are told apart by the context that they leave behind (Bar-Hillel,
Perles & Shamir, 1961): the rule ``(x, a, b)`` has the texts of ``x`` that are read in ``a`` and
leave ``b``. What is reachable is found first, by a chart over rules and contexts (as in Earley,
1970, with contexts for positions); most rules have one context, and one triple.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...errors import LimitError, UnsatisfiableError
from ...limits import Limits
from ..ir import NOTHING, Choice, Expr, Key, Ref
from ..ir import Sequence as IrSequence
from ..regular import CharSet
from .contexts import FREE, Contexts, first_characters
from .tokens import Following, Terminal, Tokens

__all__ = ["Rules", "expanded", "following_of"]


@dataclass(frozen=True, slots=True)
class Rules:
    """A grammar over terminals.

    Attributes:
        bodies: rule -> its alternatives, each a series of rules and terminals.
        terminals: by name; what is not here is a rule.
        ignored: names of the terminals that may stand between tokens.
        start: where a text starts.
    """

    bodies: Mapping[str, Sequence[tuple[str, ...]]]
    terminals: Mapping[str, Terminal]
    ignored: Sequence[str]
    start: str


_Alternative = tuple[str, int]
"""A rule and which of its alternatives."""


class _Chart:
    """Which contexts each rule can be entered in, and left in.

    Attributes:
        outs: (rule, context) -> the contexts after it.
    """

    def __init__(self, rules: Rules, tokens: Tokens, limit: int) -> None:
        self._rules = rules
        self._tokens = tokens
        self._limit = limit
        self.outs: dict[tuple[str, int], dict[int, None]] = {}
        # Alternatives that wait for a rule in a context: where they began, and how far they are.
        self._waiting: dict[tuple[str, int], list[tuple[_Alternative, int, int]]] = {}
        self._seen: set[tuple[_Alternative, int, int, int]] = set()
        self._pending: list[tuple[_Alternative, int, int, int]] = []

    def enter(self, rule: str, context: int) -> None:
        """Find all about a rule in a context."""
        self._predict(rule, context)
        while self._pending:
            alternative, entered, dot, context = self._pending.pop()
            rule, number = alternative
            body = self._rules.bodies[rule][number]
            if dot == len(body):
                self._complete(rule, entered, context)
                continue
            symbol = body[dot]
            if symbol in self._rules.terminals:
                for after in self._tokens.read(symbol, context):
                    self._advance(alternative, entered, dot + 1, after)
                continue
            self._predict(symbol, context)
            self._waiting[symbol, context].append((alternative, entered, dot))
            for after in self.outs[symbol, context]:
                self._advance(alternative, entered, dot + 1, after)

    def _predict(self, rule: str, context: int) -> None:
        if (rule, context) not in self.outs:
            self.outs[rule, context] = {}
            self._waiting[rule, context] = []
            for number in range(len(self._rules.bodies[rule])):
                self._advance((rule, number), context, 0, context)

    def _advance(self, alternative: _Alternative, entered: int, dot: int, context: int) -> None:
        item = (alternative, entered, dot, context)
        if item not in self._seen:
            self._seen.add(item)
            self._pending.append(item)
            if len(self._seen) > self._limit:
                raise LimitError(
                    stage="reading rules from context to context",
                    limit="alternatives",
                    allowed=self._limit,
                    actual=len(self._seen),
                    culprit=alternative[0],
                )

    def _complete(self, rule: str, entered: int, context: int) -> None:
        outs = self.outs[rule, entered]
        if context not in outs:
            outs[context] = None
            for alternative, begun, dot in self._waiting[rule, entered]:
                self._advance(alternative, begun, dot + 1, context)


CHART_ITEMS = 50
"""Chart items for each alternative that ``Limits`` allow."""


def expanded(
    rules: Rules, tokens: Tokens, contexts: Contexts, limits: Limits
) -> tuple[dict[Key, Expr], Key]:
    """The rules over texts, and the start.

    Raises:
        UnsatisfiableError: no text matches.
        LimitError: too many contexts.
    """
    chart = _Chart(rules, tokens, CHART_ITEMS * limits.alternatives)
    first, nullable = _first_sets(rules)
    at_start = Following(_characters(rules, first[rules.start]), rules.start in nullable)
    result: dict[Key, Expr] = {}
    options: list[Expr] = []
    gaps: Mapping[int, Expr] = {FREE: NOTHING}
    if rules.ignored:
        gaps = tokens.gap(FREE, at_start)
    for context, gap in gaps.items():
        chart.enter(rules.start, context)
        for after in chart.outs[rules.start, context]:
            if contexts.may_end(after):
                ref = Ref((rules.start, context, after))
                options.append(ref if gap == NOTHING else IrSequence((gap, ref)))
    for (rule, context), outs in chart.outs.items():
        for after in outs:
            result[rule, context, after] = _Body(rules, tokens, chart, result).of(
                rule, context, after
            )
    if not options:
        raise UnsatisfiableError(
            f"the rule {rules.start!r} matches no text: its rules never come to an end, or a "
            "lexer never finds its terminals one after the other"
        )
    start: Key = "text"
    result[start] = options[0] if len(options) == 1 else Choice(tuple(options))
    return result, start


class _Body:
    """The body of one triple."""

    def __init__(
        self, rules: Rules, tokens: Tokens, chart: _Chart, result: dict[Key, Expr]
    ) -> None:
        self._rules = rules
        self._tokens = tokens
        self._chart = chart
        self._result = result

    def of(self, rule: str, context: int, after: int) -> Expr:
        options: list[Expr] = []
        for body in self._rules.bodies[rule]:
            options.extend(self._series(rule, body, context, after))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _series(self, rule: str, body: tuple[str, ...], context: int, after: int) -> Iterator[Expr]:
        """The series of a body: one for each way through the contexts."""
        ways: list[tuple[int, tuple[Expr, ...]]] = [(context, ())]
        for symbol in body:
            longer: list[tuple[int, tuple[Expr, ...]]] = []
            for here, items in ways:
                for there, expr in self._symbol(symbol, here):
                    longer.append((there, (*items, expr)))
            ways = longer
        for here, items in ways:
            if here == after:
                yield items[0] if len(items) == 1 else IrSequence(items)

    def _symbol(self, symbol: str, context: int) -> Iterator[tuple[int, Expr]]:
        if symbol in self._rules.terminals:
            yield from self._tokens.read(symbol, context).items()
        else:
            for after in self._chart.outs.get((symbol, context), ()):
                yield after, Ref((symbol, context, after))


# ------------------------------------------------------------------ FIRST and FOLLOW

_END = ""
"""Stands for the end of the text among the terminals of a FOLLOW set; no terminal has it."""


def following_of(rules: Rules) -> dict[str, Following]:
    """What can stand after each terminal, gaps aside: its FOLLOW set."""
    first, nullable = _first_sets(rules)
    follow: dict[str, set[str]] = {symbol: set() for symbol in [*rules.bodies, *rules.terminals]}
    follow[rules.start].add(_END)
    # ``x`` is last in ``y``: what follows ``y`` follows ``x``.
    last_in: list[tuple[str, str]] = []
    for rule, bodies in rules.bodies.items():
        for body in bodies:
            begin: set[str] = set()
            may_be_last = True
            for symbol in reversed(body):
                follow[symbol] |= begin
                if may_be_last:
                    last_in.append((symbol, rule))
                own = {symbol} if symbol in rules.terminals else first[symbol]
                if symbol in nullable:
                    begin = begin | own
                else:
                    begin = set(own)
                    may_be_last = False
    pairs = dict.fromkeys(last_in)
    changed = True
    while changed:
        changed = False
        for symbol, rule in pairs:
            if not follow[rule] <= follow[symbol]:
                follow[symbol] |= follow[rule]
                changed = True
    known: dict[frozenset[str], Following] = {}
    found: dict[str, Following] = {}
    for name in rules.terminals:
        after = frozenset(follow[name])
        if after not in known:
            known[after] = Following(_characters(rules, after - {_END}), _END in after)
        found[name] = known[after]
    return found


def _first_sets(rules: Rules) -> tuple[dict[str, set[str]], set[str]]:
    """The terminals that texts of each rule begin with, and the rules that can be empty."""
    nullable: set[str] = set()
    first: dict[str, set[str]] = {rule: set() for rule in rules.bodies}
    changed = True
    while changed:
        changed = False
        for rule, bodies in rules.bodies.items():
            own = first[rule]
            before = len(own)
            for body in bodies:
                for symbol in body:
                    own |= {symbol} if symbol in rules.terminals else first[symbol]
                    if symbol not in nullable:
                        break
                else:
                    if rule not in nullable:
                        nullable.add(rule)
                        changed = True
            changed = changed or len(own) > before
    return first, nullable


def _characters(rules: Rules, names: set[str] | frozenset[str]) -> CharSet:
    return CharSet.of(
        bounds
        for name in names
        for match in rules.terminals[name].matches
        for bounds in first_characters(match.language).ranges
    )
