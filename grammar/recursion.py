"""Makes any finite set of rules fit for parsing: nothing unproductive, nothing left-recursive.

The token FSM follows calls until it finds a lexeme, so a rule that can call itself before a byte
is read would never end. :func:`normalized` rewrites such rules; trees of derivations change, the
language does not, which is all that masks need. In order:

1. *Unproductive* alternatives go; so do calls of rules that only match the empty text.
2. Rules that are not left-recursive stay as they are, the very same objects. (Only counted
   repeats of nullable items are rewritten, to count the items that are not empty.)
3. The *left calls* of a rule are the rules that may come first in it, also after items that
   match the empty text. Each cycle of left calls (a strongly connected component) is written as
   a left-linear system over *non-empty* texts: ``X+ = Y1+ t1 | Y2+ t2 | … | b``, where the ``Y``
   are in the component and no base ``b`` begins there or is empty. What is nullable is taken
   apart for it (``X = X+ | nothing``), which brings hidden left recursion to light.
4. A system of one rule is a loop: ``X+ = b t*``. Otherwise the system is read from its bases
   up, as a left-corner parser does (Rosenkrantz & Lewis, 1970): ``X+ = b Path(Z, X)``, where
   ``Path(Z, X)`` is right-recursive and reads what turns a text of ``Z`` into one of ``X``.
   Right recursion costs the FSM no stack.

**Size.** Linear but for the paths, of which there may be one for every pair of rules in a
component, each as large as one row of the system; they are computed when they are called.
Paull's substitution, which is exponential, is not used. A component's rule that is called first
in one place only, with nothing after it (``expr = sum | product | …``), is merged into
its caller beforehand, so that most grammars in practice end up with a single loop. A sequence
that begins with ``n`` nullable items is copied ``n`` times.

**Ambiguity.** ``E = E "+" E | "a"`` would become ``"a" ("+" E)*``, and a text of ``n`` terms
would have ``n`` parses alive, one for each ``E`` that could take the next ``+``. But ``X t``
is in ``X`` for every ``t`` of the loop, so what follows a call of ``X`` at the end of ``t`` can
as well be left to that call: with ``t = u | v X``, ``X+ = b u* (v X)?``. Likewise for bases
that end in ``X`` (prefix operators) and for paths. These identities hold for the
original languages, and a system without left recursion has only one solution, so the
rewritten rules match exactly the same texts; one parse is left.

Expressions are walked recursively, rules are not: nesting inside one rule is bounded by Python's
recursion limit (as in the network), the number of rules and the length of cycles are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import GrammarError, UnsatisfiableError
from .automata.dfa import CharDFA
from .ir import (
    NOTHING,
    Chain,
    ChainItem,
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
)

__all__ = ["NormalizedGrammar", "components", "normalized"]

_Rules: TypeAlias = dict[Key, Expr]


def normalized(rules: Mapping[Key, Expr], start: Key) -> NormalizedGrammar:
    """A grammar of the same texts that keeps the IR's guarantees.

    Args:
        rules: all rules, in any form: left-recursive, unproductive, nullable, unused.
        start: the rule to start with.

    Raises:
        GrammarError: a rule is called (or is the start) that does not exist.
        UnsatisfiableError: the start matches no text.
    """
    _check_calls(rules, start)
    productive = _least(rules, _is_productive)
    if start not in productive:
        _raise_unsatisfiable(rules, start, productive)
    fruitful = _Pruning(productive, productive).rules(rules)
    substantial = _least(fruitful, _is_substantial)
    return NormalizedGrammar(_Pruning(productive, substantial).rules(fruitful), start)


@dataclass(frozen=True, slots=True)
class _NonEmpty:
    """Key of the texts of a rule without the empty one."""

    key: Key


@dataclass(frozen=True, slots=True)
class _Path:
    """Key of what is to be read after a text of ``source`` to make it one of ``target``."""

    source: Key
    target: Key


def _original(key: Key) -> Key:
    return key.key if isinstance(key, _NonEmpty) else key


class NormalizedGrammar(Grammar):
    """Productive rules without left recursion; made by :func:`normalized`.

    Rewritten rules are put together when they are asked for.

    Attributes:
        start: the rule to start with.
        cycles: the left-recursive rules that were rewritten, grouped by cycle.
    """

    def __init__(self, rules: _Rules, start: Key) -> None:
        self.start = start
        self._corners = corners = _Corners(_least(rules, _is_nullable))
        self._rules = rules = {key: corners.tightened(expr) for key, expr in rules.items()}
        calls = {key: corners.left_calls(expr) for key, expr in rules.items()}
        self._systems: dict[Key, _System] = {}
        cycles: list[tuple[Key, ...]] = []
        for component in components(calls):
            first = component[0]
            if len(component) > 1 or first in calls[first]:
                system = _System({key: rules[key] for key in component}, corners)
                self._systems.update(dict.fromkeys(component, system))
                cycles.append(tuple(component))
        self.cycles = tuple(cycles)

    def rule(self, key: Key) -> Expr:
        if isinstance(key, _Path):
            return self._systems[key.source].path(key.source, key.target)
        if isinstance(key, _NonEmpty):
            system = self._systems.get(key.key)
            if system is not None:
                return system.rule(key.key)
            return _choice(self._corners.non_empty(self._rules[key.key]))
        system = self._systems.get(key)
        if system is None:
            return self._rules[key]
        if key in self._corners.nullable:
            return Choice((Ref(_NonEmpty(key)), NOTHING))
        return system.rule(key)


# ---------------------------------------------------------------------- building expressions


def _concat(*parts: Expr) -> Expr:
    """A sequence without sequences directly inside."""
    items: list[Expr] = []
    for part in parts:
        if isinstance(part, Sequence):
            items.extend(part.items)
        else:
            items.append(part)
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def _choice(options: Iterable[Expr]) -> Expr:
    distinct = tuple(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else Choice(distinct)


def _repeat(item: Expr, min: int, max: int | None) -> Expr:
    return NOTHING if max == 0 else Repeat(item, min, max)


def _fewer(node: Repeat) -> tuple[int, int | None]:
    """Bounds of what may follow one item."""
    return max(node.min - 1, 0), None if node.max is None else node.max - 1


def _unfolded(node: Chain) -> Expr:
    """A chain as a choice of the item that comes first."""
    rest: list[Expr] = []
    if node.rest is not None:
        rest.append(Repeat(_concat(node.separator, node.rest), 0, None))
    followers: list[Expr] = rest
    options: list[Expr] = []
    if node.rest is not None:
        options.append(_concat(node.rest, *rest))
    empty = True
    for item in reversed(node.items):
        if item.required:
            # Whatever was collected so far cannot be first any more.
            options.clear()
            empty = False
        options.append(_concat(item.expr, *followers))
        more = _concat(node.separator, item.expr)
        followers = [more if item.required else Repeat(more, 0, 1), *followers]
    options.reverse()
    if empty:
        options.append(NOTHING)
    return _choice(options)


# ---------------------------------------------------------------------- questions about rules


def _called(expr: Expr) -> Iterator[Key]:
    """Every rule that an expression mentions."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Ref):
            yield node.key
        elif isinstance(node, Sequence):
            stack.extend(node.items)
        elif isinstance(node, Choice):
            stack.extend(node.options)
        elif isinstance(node, Repeat):
            stack += (node.separator, node.item)
        elif isinstance(node, Chain):
            stack.extend(item.expr for item in node.items)
            stack.append(node.separator)
            if node.rest is not None:
                stack.append(node.rest)


def _check_calls(rules: Mapping[Key, Expr], start: Key) -> None:
    if start not in rules:
        raise GrammarError(f"the start rule {start!r} is not defined; define it")
    for key, expr in rules.items():
        for called in _called(expr):
            if called not in rules:
                raise GrammarError(
                    f"rule {key!r} calls {called!r}, which is not defined; "
                    "define it or correct the name"
                )


def _raise_unsatisfiable(rules: Mapping[Key, Expr], start: Key, productive: set[Key]) -> None:
    seen = {start: None}
    stack = [start]
    while stack:
        for called in _called(rules[stack.pop()]):
            if called not in productive and called not in seen:
                seen[called] = None
                stack.append(called)
    names = [repr(key) for key in seen]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    raise UnsatisfiableError(
        f"the start rule {start!r} matches no text, because these rules never come to an end: "
        f"{shown}; give one of them an alternative that does"
    )


def _least(rules: Mapping[Key, Expr], holds: Callable[[Expr, set[Key]], bool]) -> set[Key]:
    """The smallest set of rules for which a monotone property holds, given that it holds for it."""
    callers: dict[Key, list[Key]] = {}
    for key, expr in rules.items():
        for called in dict.fromkeys(_called(expr)):
            callers.setdefault(called, []).append(key)
    known: set[Key] = set()
    pending: Iterable[Key] = rules
    while pending:
        fresh = [key for key in pending if key not in known and holds(rules[key], known)]
        known.update(fresh)
        pending = dict.fromkeys(caller for key in fresh for caller in callers.get(key, ()))
    return known


def _is_productive(expr: Expr, known: set[Key]) -> bool:
    """Whether an expression matches anything."""
    if isinstance(expr, Ref):
        return expr.key in known
    if isinstance(expr, Sequence):
        return all(_is_productive(item, known) for item in expr.items)
    if isinstance(expr, Choice):
        return any(_is_productive(option, known) for option in expr.options)
    if isinstance(expr, Repeat):
        if expr.max is not None and expr.max < expr.min:
            return False
        if expr.min == 0:
            return True
        return _is_productive(expr.item, known) and (
            expr.min == 1 or _is_productive(expr.separator, known)
        )
    if isinstance(expr, Chain):
        required = [item.expr for item in expr.items if item.required]
        return all(_is_productive(item, known) for item in required) and (
            len(required) < 2 or _is_productive(expr.separator, known)
        )
    if isinstance(expr, TextLexeme | StringLexeme):
        return not expr.language.is_empty
    if isinstance(expr, CountedString):
        return expr.max is None or expr.min <= expr.max
    return True


def _is_substantial(expr: Expr, known: set[Key]) -> bool:
    """Whether an expression of productive parts matches a text that is not empty."""
    if isinstance(expr, Ref):
        return expr.key in known
    if isinstance(expr, Sequence):
        return any(_is_substantial(item, known) for item in expr.items)
    if isinstance(expr, Choice):
        return any(_is_substantial(option, known) for option in expr.options)
    if isinstance(expr, Repeat):
        several = expr.max is None or expr.max > 1
        return expr.max != 0 and (
            _is_substantial(expr.item, known)
            or (several and _is_substantial(expr.separator, known))
        )
    if isinstance(expr, Chain):
        present = [item.expr for item in expr.items]
        if expr.rest is not None:
            present += (expr.rest, expr.rest)
        return any(_is_substantial(item, known) for item in present) or (
            len(present) > 1 and _is_substantial(expr.separator, known)
        )
    if isinstance(expr, Literal):
        return bool(expr.data)
    if isinstance(expr, TextLexeme):
        return expr.language.max_length != 0
    return True


def _is_nullable(expr: Expr, known: set[Key]) -> bool:
    """Whether a productive expression matches the empty text."""
    if isinstance(expr, Ref):
        return expr.key in known
    if isinstance(expr, Sequence):
        return all(_is_nullable(item, known) for item in expr.items)
    if isinstance(expr, Choice):
        return any(_is_nullable(option, known) for option in expr.options)
    if isinstance(expr, Repeat):
        return expr.min == 0 or (
            _is_nullable(expr.item, known)
            and (expr.min == 1 or _is_nullable(expr.separator, known))
        )
    if isinstance(expr, Chain):
        required = [item.expr for item in expr.items if item.required]
        return all(_is_nullable(item, known) for item in required) and (
            len(required) < 2 or _is_nullable(expr.separator, known)
        )
    if isinstance(expr, Literal):
        return not expr.data
    return isinstance(expr, TextLexeme) and bool(expr.language.accepting[1])


def components(calls: Mapping[Key, dict[Key, None]]) -> list[list[Key]]:
    """Strongly connected components (Tarjan, 1972), with an explicit stack.

    Args:
        calls: the keys that each key leads to, all of them keys themselves.

    Returns:
        The components, each after those that it leads to.
    """
    index: dict[Key, int] = {}
    low: dict[Key, int] = {}
    open_: dict[Key, None] = {}
    result: list[list[Key]] = []
    for root in calls:
        if root in index:
            continue
        walk: list[tuple[Key, Iterator[Key]]] = []
        entered: Key | None = root
        while True:
            if entered is not None:
                index[entered] = low[entered] = len(index)
                open_[entered] = None
                walk.append((entered, iter(calls[entered])))
                entered = None
            key, successors = walk[-1]
            for called in successors:
                if called not in index:
                    entered = called
                    break
                if called in open_:
                    low[key] = min(low[key], index[called])
            if entered is not None:
                continue
            walk.pop()
            if walk:
                caller = walk[-1][0]
                low[caller] = min(low[caller], low[key])
            if low[key] == index[key]:
                component: list[Key] = []
                while not component or component[-1] != key:
                    component.append(open_.popitem()[0])
                component.reverse()
                result.append(component)
            if not walk:
                break
    return result


# ---------------------------------------------------------------------- pruning


class _Pruning:
    """Drops what matches nothing, and calls of rules that match only the empty text."""

    def __init__(self, productive: set[Key], substantial: set[Key]) -> None:
        self._productive = productive
        self._substantial = substantial

    def rules(self, rules: Mapping[Key, Expr]) -> _Rules:
        found = {key: self.expression(expr) for key, expr in rules.items()}
        return {key: expr for key, expr in found.items() if expr is not None}

    def expression(self, expr: Expr) -> Expr | None:
        """The productive part of an expression (itself if that is all), or ``None``."""
        if isinstance(expr, Ref):
            if expr.key not in self._productive:
                return None
            return expr if expr.key in self._substantial else NOTHING
        if isinstance(expr, Sequence):
            items = [self.expression(item) for item in expr.items]
            left = tuple(item for item in items if item is not None)
            if len(left) < len(items):
                return None
            return expr if _same(left, expr.items) else Sequence(left)
        if isinstance(expr, Choice):
            found = [self.expression(option) for option in expr.options]
            left = tuple(option for option in found if option is not None)
            if not left:
                return None
            return expr if _same(left, expr.options) else _choice(left)
        if isinstance(expr, Repeat):
            return self._repeat(expr)
        if isinstance(expr, Chain):
            return self._chain(expr)
        return expr if _is_productive(expr, self._productive) else None

    def _repeat(self, expr: Repeat) -> Expr | None:
        if not _is_productive(expr, self._productive):
            return None
        item = self.expression(expr.item)
        if expr.max == 0 or item is None:
            return NOTHING
        separator = self.expression(expr.separator)
        if separator is None:
            return Repeat(item, expr.min, 1)
        if item is expr.item and separator is expr.separator:
            return expr
        return Repeat(item, expr.min, expr.max, separator)

    def _chain(self, expr: Chain) -> Expr | None:
        if not _is_productive(expr, self._productive):
            return None
        found = [(item, self.expression(item.expr)) for item in expr.items]
        items = tuple(
            item if left is item.expr else ChainItem(left, item.required)
            for item, left in found
            if left is not None
        )
        rest = None if expr.rest is None else self.expression(expr.rest)
        separator = self.expression(expr.separator)
        if separator is None:
            # At most one item; the required one if there is any.
            required = [item.expr for item in items if item.required]
            if required:
                return required[0]
            single = [item.expr for item in items] + ([] if rest is None else [rest])
            return _choice([*single, NOTHING])
        same = rest is expr.rest and separator is expr.separator and _same(items, expr.items)
        return expr if same else Chain(items, separator, rest)


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


# ---------------------------------------------------------------------- left corners


class _Corners:
    """What expressions begin with.

    Attributes:
        nullable: the rules that match the empty text.
    """

    def __init__(self, nullable: set[Key]) -> None:
        self.nullable = nullable

    def is_nullable(self, expr: Expr) -> bool:
        return _is_nullable(expr, self.nullable)

    def plus(self, key: Key) -> Key:
        """The rule for the non-empty texts of a rule."""
        return _NonEmpty(key) if key in self.nullable else key

    def left_calls(self, expr: Expr) -> dict[Key, None]:
        """The rules that may be called before a byte is read (for chains: perhaps some more)."""
        found: dict[Key, None] = {}
        self._collect(expr, found)
        return found

    def _collect(self, expr: Expr, found: dict[Key, None]) -> None:
        if isinstance(expr, Ref):
            found[_original(expr.key)] = None
        elif isinstance(expr, Sequence):
            for item in expr.items:
                self._collect(item, found)
                if not self.is_nullable(item):
                    break
        elif isinstance(expr, Choice):
            for option in expr.options:
                self._collect(option, found)
        elif isinstance(expr, Repeat) and expr.max != 0:
            self._collect(expr.item, found)
            if self.is_nullable(expr.item):
                self._collect(expr.separator, found)
        elif isinstance(expr, Chain):
            begun = False  # an item may have come and been empty
            for link in expr.items:
                self._collect(link.expr, found)
                begun = begun or self.is_nullable(link.expr)
                if link.required and not begun:
                    return
            if expr.rest is not None:
                self._collect(expr.rest, found)
                begun = begun or self.is_nullable(expr.rest)
            if begun:
                self._collect(expr.separator, found)

    def tightened(self, expr: Expr) -> Expr:
        """The same texts without counted repeats of nullable items, itself if there are none.

        ``n`` items may all be empty, so a closure would cross ``n`` internal rules of the
        network. Which of the items are the empty ones does not matter: the others are counted.
        """
        if isinstance(expr, Sequence):
            items = tuple(self.tightened(item) for item in expr.items)
            return expr if _same(items, expr.items) else Sequence(items)
        if isinstance(expr, Choice):
            options = tuple(self.tightened(option) for option in expr.options)
            return expr if _same(options, expr.options) else Choice(options)
        if isinstance(expr, Chain):
            parts = [self.tightened(item.expr) for item in expr.items]
            members = tuple(
                item if part is item.expr else ChainItem(part, item.required)
                for item, part in zip(expr.items, parts, strict=True)
            )
            separator = self.tightened(expr.separator)
            rest = None if expr.rest is None else self.tightened(expr.rest)
            same = separator is expr.separator and rest is expr.rest
            same = same and _same(members, expr.items)
            return expr if same else Chain(members, separator, rest)
        if not isinstance(expr, Repeat):
            return expr
        item, separator = self.tightened(expr.item), self.tightened(expr.separator)
        counted = expr.min > 1 or (expr.max is not None and expr.max > 1)
        if not (counted and self.is_nullable(item) and self.is_nullable(separator)):
            same = item is expr.item and separator is expr.separator
            return expr if same else Repeat(item, expr.min, expr.max, separator)
        more = self.non_empty(_concat(separator, item))
        if not more:
            return NOTHING
        if separator == NOTHING:
            return Repeat(_choice(more), 0, expr.max)
        return _concat(item, Repeat(_choice(more), 0, _fewer(expr)[1]))

    def non_empty(self, expr: Expr) -> list[Expr]:
        """Expressions that are never empty, for the non-empty texts of an expression."""
        return [tail for _, tail in self.corners(expr, frozenset())]

    def corners(self, expr: Expr, component: frozenset[Key]) -> list[tuple[Key | None, Expr]]:
        """Ways to write the non-empty texts of an expression.

        ``(Y, tail)``: a non-empty text of ``Y``, which is in the component, and then ``tail``.
        ``(None, base)``: ``base`` is never empty and has no left calls into the component.
        """
        if not self.is_nullable(expr) and component.isdisjoint(self.left_calls(expr)):
            return [(None, expr)]
        if isinstance(expr, Ref):
            if _original(expr.key) in component:
                return [(_original(expr.key), NOTHING)]
            return [(None, Ref(self.plus(expr.key)))]
        if isinstance(expr, Sequence):
            found: list[tuple[Key | None, Expr]] = []
            for i, item in enumerate(expr.items):
                after = expr.items[i + 1 :]
                found += [
                    (head, _concat(tail, *after)) for head, tail in self.corners(item, component)
                ]
                if not self.is_nullable(item):
                    break
            return found
        if isinstance(expr, Choice):
            return [corner for option in expr.options for corner in self.corners(option, component)]
        if isinstance(expr, Repeat):
            return self._repeat(expr, component)
        if isinstance(expr, Chain):
            return self.corners(_unfolded(expr), component)
        if isinstance(expr, TextLexeme):
            language = expr.language.difference(CharDFA.from_strings([""]))
            return [] if language.is_empty else [(None, TextLexeme(language))]
        return []  # the empty literal

    def _repeat(self, node: Repeat, component: frozenset[Key]) -> list[tuple[Key | None, Expr]]:
        if node.max == 0:
            return []
        fewer, more = _fewer(node)
        if node.separator != NOTHING:
            again = _concat(node.separator, node.item)
            return self.corners(_concat(node.item, _repeat(again, fewer, more)), component)
        # Empty items can be moved to the end, and there they count as the missing ones.
        rest = _repeat(node.item, 0 if self.is_nullable(node.item) else fewer, more)
        return [(head, _concat(tail, rest)) for head, tail in self.corners(node.item, component)]


class _System:
    """The left-linear system of one component, and its solution.

    ``edges[X][Y]`` are the tails ``t`` of ``X+ = Y+ t | …``: ``NOTHING``, or never empty.
    ``bases[X]`` are the other alternatives. ``core`` are the rules that were not merged into
    another one; every edge of theirs leads to one of them.
    """

    def __init__(self, rules: _Rules, corners: _Corners) -> None:
        self._corners = corners
        self._edges: dict[Key, dict[Key, dict[Expr, None]]] = {}
        self._bases: dict[Key, dict[Expr, None]] = {}
        component = frozenset(rules)
        for key, expr in rules.items():
            edges = self._edges[key] = {}
            bases = self._bases[key] = {}
            for head, tail in corners.corners(expr, component):
                if head is None:
                    bases[tail] = None
                    continue
                tails = [tail]
                if corners.is_nullable(tail):
                    tails = [NOTHING, *corners.non_empty(tail)]
                edges.setdefault(head, {}).update(dict.fromkeys(tails))
            self._drop_unit_loop(key)
        self._core = dict.fromkeys(rules)
        self._merge()
        self._outgoing: dict[Key, list[tuple[Key, Expr]]] = {key: [] for key in self._core}
        for key in self._core:
            for head, tails_ in self._edges[key].items():
                self._outgoing[head] += [(key, tail) for tail in tails_]

    def _drop_unit_loop(self, key: Key) -> None:
        loops = self._edges[key].get(key)
        if loops is not None:
            loops.pop(NOTHING, None)
            if not loops:
                del self._edges[key][key]

    def _merge(self) -> None:
        """Merge rules that begin one other rule, with nothing after them, into that rule."""
        users: dict[Key, dict[Key, None]] = {key: {} for key in self._core}
        for key, edges in self._edges.items():
            for head in edges:
                users[head][key] = None
        pending = list(self._core)
        while pending:
            key = pending.pop()
            if key not in self._core or len(users[key]) != 1:
                continue
            (user,) = users[key]
            if (
                user == key
                or len(self._edges[user][key]) > 1
                or NOTHING not in self._edges[user][key]
            ):
                continue
            del self._edges[user][key]
            del self._core[key]
            self._bases[user].update(self._bases[key])
            for head, tails in self._edges[key].items():
                self._edges[user].setdefault(head, {}).update(tails)
                del users[head][key]
                users[head][user] = None
                pending.append(head)
            self._drop_unit_loop(user)
            if user not in self._edges[user]:
                users[user].pop(user, None)
            pending.append(user)

    def rule(self, key: Key) -> Expr:
        """The non-empty texts of a rule."""
        if key not in self._core:
            calls = [
                _concat(Ref(self._corners.plus(head)), tail)
                for head, tails in self._edges[key].items()
                for tail in tails
            ]
            return _choice([*self._bases[key], *calls])
        if len(self._core) == 1:
            return self._loop(key)
        options: list[Expr] = []
        equals = self._equals(key)
        for source in self._core:
            if not self._bases[source]:
                continue
            open_, closed = self._bases[source], dict[Expr, None]()
            if source in equals:
                open_, closed = self._by_end(open_, key)
            if open_:
                options.append(_concat(_choice(open_), Ref(_Path(source, key))))
            options += [self._closed(before, key) for before in closed]
        return _choice(options)

    def _loop(self, key: Key) -> Expr:
        first, prefix = self._by_end(self._bases[key], key)
        again, last = self._by_end(self._edges[key].get(key, {}), key)
        parts: list[Expr] = [_choice(first)] if first else []
        if first and again:
            parts.append(Repeat(_choice(again), 0, None))
        if first and last:
            parts.append(Repeat(self._closed(_choice(last), key), 0, 1))
        options = [_concat(*parts)] if first else []
        if prefix:
            options.append(self._closed(_choice(prefix), key))
        return _choice(options)

    def path(self, source: Key, target: Key) -> Expr:
        """What turns a text of ``source`` into one of ``target``."""
        reach = self._reach(source)
        equals = self._equals(target)
        options: list[Expr] = [NOTHING] if target in reach else []
        onward: dict[Key, dict[Expr, None]] = {}
        for head in reach:
            for key, tail in self._outgoing[head]:
                if tail != NOTHING:
                    onward.setdefault(key, {})[tail] = None
        for key, tails in onward.items():
            open_ = tails
            if key in equals:
                open_, closed = self._by_end(tails, target)
                options += [self._closed(before, target) for before in closed]
            if open_:
                options.append(_concat(_choice(open_), Ref(_Path(key, target))))
        return _choice(options)

    def _reach(self, source: Key) -> dict[Key, None]:
        """Rules whose texts include those of ``source`` because they call it and nothing else."""
        reach = {source: None}
        stack = [source]
        while stack:
            for key, tail in self._outgoing[stack.pop()]:
                if tail == NOTHING and key not in reach:
                    reach[key] = None
                    stack.append(key)
        return reach

    def _equals(self, target: Key) -> dict[Key, None]:
        """The rules with exactly the texts of ``target``: those on a cycle of such calls."""
        equal = {target: None}
        stack = [target]
        reach = self._reach(target)
        while stack:
            for head, tails in self._edges[stack.pop()].items():
                if NOTHING in tails and head in reach and head not in equal:
                    equal[head] = None
                    stack.append(head)
        return equal

    def _closed(self, before: Expr, key: Key) -> Expr:
        return _concat(before, Ref(self._corners.plus(key)))

    def _by_end(self, exprs: Iterable[Expr], key: Key) -> tuple[dict[Expr, None], dict[Expr, None]]:
        """``exprs`` as (those that do not end in a call of ``key``, what stands before it)."""
        other: dict[Expr, None] = {}
        before: dict[Expr, None] = {}
        for expr in exprs:
            items = expr.items if isinstance(expr, Sequence) else (expr,)
            end = items[-1]
            if not isinstance(end, Ref) or end.key not in (key, _NonEmpty(key)):
                other[expr] = None
                continue
            rest = _concat(*items[:-1])
            before[rest] = None
            if end.key in self._corners.nullable and rest != NOTHING:
                other[rest] = None
        return other, before
