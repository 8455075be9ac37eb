"""The pipeline: from the tree of a regular expression to the canonical table of its language.

Trees without looks go the fast way: assemble, partition the alphabet, subset construction,
canonical form; each is one kernel call. ``Intersect`` and ``Complement`` are products of the
tables of their operands.

Trees with looks at more than one character are first taken apart where that is exact and cheap: a
lookahead before everything else, as in ``^(?!x)y``, says something about the whole text, so it
is an intersection; likewise a lookbehind after everything else. What remains goes to
:mod:`.lookaround`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ...errors import LimitError
from ...limits import Limits
from ..regular import (
    ANY_TEXT,
    Assert,
    Complement,
    Concat,
    Intersect,
    Look,
    Regular,
    Repeat,
    Union,
)
from .alphabet import classes_of
from .lookaround import language_with_looks
from .minimal import canonical
from .neighbours import MAX_MODES, neighbour_tables
from .product import BOTH, EITHER, FIRST_ONLY, accepts_any, product
from .subset import POSITIONS_PER_STATE, determinize
from .table import MAX_TABLE_ENTRIES, IntArray, Table
from .thompson import Assembler

__all__ = ["ANY_TABLE", "combine", "embedded_language", "language_of", "probe"]

MAX_NESTING = 100
"""Looks, complements and intersections may be nested this deep in each other."""

# Everything but surrogates, as every canonical table.
ANY_TABLE = Table(
    np.array([0, 0xD800, 0xE000], np.int32),
    np.array([0, 1, 0], np.int32),
    np.array([[0, 0], [1, 0]], np.int32),
    np.array([False, True]),
)


def language_of(node: Regular, *, limits: Limits, culprit: str, depth: int = 0) -> Table:
    """The canonical table of the texts that match as a whole.

    Raises:
        LimitError: see :class:`Limits`; also if looks or set operations are nested more than
            ``MAX_NESTING`` deep.
    """
    if depth > MAX_NESTING:
        raise LimitError(
            stage="nesting of lookarounds and set operations",
            limit="nfa_states",
            allowed=MAX_NESTING,
            actual=depth,
            culprit=culprit,
        )
    inner = partial(language_of, limits=limits, culprit=culprit, depth=depth + 1)
    merge = partial(combine, limits=limits, culprit=culprit)
    if isinstance(node, Intersect):
        result = ANY_TABLE
        for part in node.parts:
            result = merge(result, inner(part), BOTH)
        return result
    if isinstance(node, Complement):
        return merge(ANY_TABLE, inner(node.item), FIRST_ONLY)

    assembler = Assembler(limits=limits, culprit=culprit, embed=inner)
    nodes, entry = assembler.assemble(node)
    if not assembler.looks:
        return _determinized(assembler, nodes, entry)

    if isinstance(node, Union) and len(node.options) > 1:
        result = inner(node.options[0])
        for option in node.options[1:]:
            result = merge(result, inner(option), EITHER)
        return result
    items, wanted, unwanted = _take_apart(node)
    if wanted or unwanted:
        result = inner(Concat(tuple(items)))
        for condition in wanted:
            result = merge(result, inner(condition), BOTH)
        for condition in unwanted:
            result = merge(result, inner(condition), FIRST_ONLY)
        return result
    for i, item in enumerate(items):
        if isinstance(item, Union) and len(item.options) > 1 and _is_only_item(items, i):
            options = [Concat((*items[:i], option, *items[i + 1 :])) for option in item.options]
            return inner(Union(tuple(options)))
    assembler = Assembler(limits=limits, culprit=culprit, embed=inner)
    return language_with_looks(Concat(tuple(items)), assembler)


def embedded_language(
    node: Regular, tables: Mapping[Regular, Table], *, limits: Limits, culprit: str
) -> Table:
    """The language of a tree whose set operations stand for given tables.

    How concatenation and iteration of automata are made: as an NFA that embeds them.
    """
    assembler = Assembler(limits=limits, culprit=culprit, embed=tables.__getitem__)
    return _determinized(assembler, *assembler.assemble(node))


def _determinized(assembler: Assembler, nodes: IntArray, entry: int) -> Table:
    """Canonical table of an NFA without looks."""
    limits = assembler.limits
    cuts, ranges, set_start = assembler.partition_arguments()
    interval_class, member = classes_of(cuts, ranges, set_start)
    neighbours = neighbour_tables(assembler.behind, assembler.ahead, member)
    if neighbours is None:
        raise LimitError(
            stage="combinations of one-character lookaheads",
            limit="nfa_states",
            allowed=MAX_MODES,
            actual=MAX_MODES + 1,
            culprit=assembler.culprit,
        )
    # As many states as the pattern spells out are its author's choice.
    max_states = min(limits.dfa_states + len(nodes), MAX_TABLE_ENTRIES // member.shape[1])
    raw = determinize(
        nodes, entry, member, neighbours,
        max_states=max_states,
        max_positions=limits.dfa_states * POSITIONS_PER_STATE + 2 * len(nodes),
    )  # fmt: skip
    if raw is None:
        raise LimitError(
            stage="regex determinization",
            limit="dfa_states",
            allowed=max_states,
            actual=max_states + 1,
            culprit=assembler.culprit,
        )
    return canonical(Table(cuts, interval_class, *raw))


def _flatten(node: Regular) -> list[Regular]:
    items: list[Regular] = []
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, Concat):
            todo.extend(reversed(item.items))
        else:
            items.append(item)
    return items


def _is_anchor(node: Regular, kind: str) -> bool:
    return isinstance(node, Assert) and node.kind == kind


def _is_optional_repeat(node: Regular) -> bool:
    return isinstance(node, Repeat) and node.min == 0


def _is_only_item(items: list[Regular], i: int) -> bool:
    """Everything but item ``i`` is an anchor or the any-text padding of a search."""
    return all(
        j == i or item == ANY_TEXT or isinstance(item, Assert) for j, item in enumerate(items)
    )


def _take_apart(node: Regular) -> tuple[list[Regular], list[Regular], list[Regular]]:
    """Items of a concatenation; whole-text languages that they are restricted to, and without.

    Before ``start`` and after ``end`` only the empty text fits, and ``x*`` matches it.
    """
    items = _flatten(node)
    while len(items) > 1 and _is_optional_repeat(items[0]) and _is_anchor(items[1], "start"):
        del items[0]
    while len(items) > 1 and _is_optional_repeat(items[-1]) and _is_anchor(items[-2], "end"):
        del items[-1]
    wanted: list[Regular] = []
    unwanted: list[Regular] = []
    ends = len(items)
    begins = 0
    kept: list[Regular] = []
    while begins < ends:
        item = items[begins]
        if isinstance(item, Look) and not item.behind:
            (unwanted if item.negative else wanted).append(Concat((item.item, ANY_TEXT)))
        elif _is_anchor(item, "start"):
            kept.append(item)
        else:
            break
        begins += 1
    trailing: list[Regular] = []
    while ends > begins:
        item = items[ends - 1]
        if isinstance(item, Look) and item.behind:
            (unwanted if item.negative else wanted).append(Concat((ANY_TEXT, item.item)))
        elif _is_anchor(item, "end"):
            trailing.append(item)
        else:
            break
        ends -= 1
    return kept + items[begins:ends] + trailing, wanted, unwanted


def combine(a: Table, b: Table, wanted: int, *, limits: Limits, culprit: str) -> Table:
    """A boolean combination (see :mod:`.product`) of two canonical tables, canonical.

    Raises:
        LimitError: ``Limits.dfa_states`` pairs of states more than either has states.
    """
    larger = max(len(a.accepting), len(b.accepting))
    max_states = min(limits.dfa_states + larger, MAX_TABLE_ENTRIES // _joint_width(a, b))
    raw = product(a, b, wanted, limit=max_states)
    if raw is None:
        raise LimitError(
            stage="product of two automata",
            limit="dfa_states",
            allowed=max_states,
            actual=max_states + 1,
            culprit=culprit,
        )
    return canonical(raw)


def probe(a: Table, b: Table, wanted: int) -> bool:
    """Whether the combination accepts any text; stops at the first one.

    Raises:
        LimitError: not found in as many pairs of states as a table may have entries.
    """
    limit = MAX_TABLE_ENTRIES // _joint_width(a, b)
    found = accepts_any(a, b, wanted, limit=limit)
    if found is None:
        raise LimitError(
            stage="comparison of two automata",
            limit="dfa_states",
            allowed=limit,
            actual=limit + 1,
        )
    return found


def _joint_width(a: Table, b: Table) -> int:
    """An upper bound of the number of classes of the joined alphabets."""
    width: int = min(a.trans.shape[1] * b.trans.shape[1], len(a.cuts) + len(b.cuts))
    return width
