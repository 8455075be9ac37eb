"""From the tree of a regular expression to a flat NFA.

Two steps. :class:`Assembler` walks the tree (with its own stack: depth is no concern) and
writes a short program, linear in the size of the tree: a repeat is a loop. :func:`link` runs
the program and lays out the NFA with every repeat unrolled. The program builds *backwards*,
from the last item to the first, so that each node is made when its successor is known and
nothing must be patched except the way back of a loop. The size of the NFA is known before it
is built, which is when its limit is checked.

NFA node ``i`` is ``nodes[i] = (op, arg, next, other)``:

=======  ============================  =============================================
CHAR     a character of set ``arg``    then ``next``
BEHIND   condition ``arg`` on what is  then ``next``
AHEAD    ... before / after            then ``next``
LOOK     test ``arg`` holds here       then ``next``; arg is 2 * look + (1 if negated)
SPLIT    either                        ``next`` or ``other`` (FAIL if there is none)
=======  ============================  =============================================

Node 0 is ``FINAL``, node 1 ``FAIL``. Conditions are those of :mod:`.neighbours`: anchors and
everything else that looks at one character. ``x{m,n}`` nests its optional copies, ``x(x(x)?)?``, so
that a closure meets one of them and not all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from ...errors import LimitError
from ...jit import kernel
from ...limits import Limits
from ..regular import (
    ANY_CHAR,
    MAX_CODE_POINT,
    Assert,
    Chars,
    CharSet,
    Concat,
    Look,
    Regular,
    Repeat,
    Union,
)
from .neighbours import ANY, Condition
from .table import IntArray, OffsetArray, Table

__all__ = [
    "AHEAD",
    "BEHIND",
    "CHAR",
    "FAIL",
    "FINAL",
    "LOOK",
    "SPLIT",
    "Assembler",
    "single_character",
]

FINAL, FAIL = 0, 1  # nodes, and their own ops
CHAR, BEHIND, AHEAD, LOOK, SPLIT = 2, 3, 4, 5, 6  # ops of nodes, and of instructions
_OPTIONS, _OPTION, _OPTIONS_END, _LOOP, _LOOP_END, _EMBED = 7, 8, 9, 10, 11, 12

Ranges = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Assembler:
    """Writes programs that share one table of character sets.

    Attributes:
        embed: compiles an ``Intersect`` or ``Complement`` node met inside a larger tree.
        sets: the ranges of each character set -> its number.
        behind, ahead: conditions on the neighbours -> their numbers.
        looks: what each look number tests, in order of appearance: an item, and whether it
            stands behind. Negation is at the use.
    """

    limits: Limits
    culprit: str
    embed: Callable[[Regular], Table]
    sets: dict[Ranges, int] = field(default_factory=dict)
    behind: dict[Condition, int] = field(default_factory=dict)
    ahead: dict[Condition, int] = field(default_factory=dict)
    looks: list[tuple[Regular, bool]] = field(default_factory=list)
    _embedded: list[IntArray] = field(default_factory=list)

    def assemble(self, root: Regular) -> tuple[IntArray, int]:
        """The NFA of a tree: nodes int32[n_nodes, 4], and the node where it starts.

        Raises:
            LimitError: more than ``Limits.nfa_states`` nodes; nothing was built then.
        """
        program: list[int] = []
        write = program.extend
        sets = self.sets
        limit = self.limits.nfa_states
        size = 2
        # What is left to do: nodes with the number of their copies, or (None, instruction).
        todo: list[tuple[Regular | None, int]] = [(root, 1)]
        while todo:
            node, copies = todo.pop()
            if node is None:
                write((copies, 0, 0))
                continue
            if isinstance(node, Chars):
                number = sets.setdefault(node.set.ranges, len(sets))
                write((CHAR, number, 0))
                size += copies
            elif isinstance(node, Concat):
                # The last one must come off first, since programs build backwards.
                todo.extend([(item, copies) for item in node.items])
            elif isinstance(node, Union):
                write((_OPTIONS, 0, 0))
                todo.append((None, _OPTIONS_END))
                for option in node.options:
                    todo.append((None, _OPTION))
                    todo.append((option, copies))
                size += copies * len(node.options)
            elif isinstance(node, Repeat):
                item, low, high = _plain_repeat(node)
                if high == 0:
                    continue
                unrolled = copies * (max(low, 1) if high is None else high)
                write((_LOOP, low, -1 if high is None else high))
                todo.append((None, _LOOP_END))
                todo.append((item, unrolled))
                size += unrolled
            elif isinstance(node, Assert):
                instructions = self._assertion(node)
                write(instructions)
                size += copies * (len(instructions) // 3)
            elif isinstance(node, Look):
                single = single_character(node.item, behind=node.behind)
                if single is not None:
                    write(self.condition(*single, behind=node.behind, negative=node.negative))
                else:
                    write((LOOK, 2 * len(self.looks) + node.negative, 0))
                    self.looks.append((node.item, node.behind))
                size += copies
            else:
                write((_EMBED, len(self._embedded), 0))
                size += copies * self._embed(node)
            if size > limit:
                raise LimitError(
                    stage="regex NFA construction",
                    limit="nfa_states",
                    allowed=limit,
                    actual=size,
                    culprit=self.culprit,
                )
        embedded = np.concatenate(self._embedded) if self._embedded else np.zeros(0, np.int32)
        starts = np.zeros(len(self._embedded) + 1, np.int64)
        if self._embedded:
            np.cumsum([len(part) for part in self._embedded], out=starts[1:])
        nodes = np.zeros((size, 4), np.int32)
        frames = np.zeros((len(program) // 3 + 1, 6), np.int32)
        entry = link(np.array(program, np.int32), embedded, starts, nodes, frames)
        return nodes[: frames[0, 0]], entry

    def partition_arguments(self) -> tuple[IntArray, IntArray, IntArray]:
        """The sets as :func:`.alphabet.classes_of` takes them: cuts, ranges, set_start."""
        ranges = [bounds for ranges in self.sets for bounds in ranges]
        cuts = {0}
        for first, last in ranges:
            cuts.add(first)
            cuts.add(last + 1)
        cuts.discard(MAX_CODE_POINT + 1)
        set_start = np.array([0, *accumulate(map(len, self.sets))], np.int32)
        return (
            np.array(sorted(cuts), np.int32),
            np.array(ranges, np.int32).ravel(),
            set_start,
        )

    def _assertion(self, node: Assert) -> list[int]:
        """Instructions of an anchor or a word boundary."""
        cases = self.assertion(node)
        if len(cases) == 1:
            return [number for condition in cases[0] for number in condition]
        instructions = [_OPTIONS, 0, 0]
        for case in cases:
            instructions += [number for condition in case for number in condition]
            instructions += [_OPTION, 0, 0]
        return [*instructions, _OPTIONS_END, 0, 0]

    def assertion(self, node: Assert) -> list[list[list[int]]]:
        """When an anchor or a word boundary holds: in any of some cases all instructions do."""
        behind = node.kind in ("start", "line_start")
        if node.kind in ("start", "end"):
            return [[self.condition(CharSet(()), True, behind=behind, negative=False)]]
        if node.kind in ("line_start", "line_end"):
            return [[self.condition(node.set, True, behind=behind, negative=False)]]
        differ = node.kind == "word_boundary"
        return [
            [
                self.condition(node.set, False, behind=True, negative=before),
                self.condition(node.set, False, behind=False, negative=before != differ),
            ]
            for before in (False, True)
        ]

    def condition(self, members: CharSet, edge: bool, *, behind: bool, negative: bool) -> list[int]:
        """One instruction: the neighbour is (not) in a set or, with ``edge``, missing."""
        if edge:
            # Conditions have no edge in their sets: "a member or missing" is "no non-member".
            members, negative = members.complement(), not negative
        ranges = members.ranges
        number = (
            ANY if ranges == ANY_CHAR.set.ranges else self.sets.setdefault(ranges, len(self.sets))
        )
        conditions = self.behind if behind else self.ahead
        condition = conditions.setdefault((number, negative), len(conditions))
        return [BEHIND if behind else AHEAD, condition, 0]

    def _embed(self, node: Regular) -> int:
        """Compile an operand of set algebra into data for ``link``; returns its NFA size."""
        table = self.embed(node)
        n_states, width = table.trans.shape
        members: list[list[tuple[int, int]]] = [[] for _ in range(width)]
        ends = [*table.cuts[1:].tolist(), MAX_CODE_POINT + 1]
        for start, end, c in zip(
            table.cuts.tolist(), ends, table.interval_class.tolist(), strict=True
        ):
            members[c].append((start, end - 1))
        used = np.logical_or.reduce(table.trans != 0, axis=0).tolist()
        numbers = [
            self.sets.setdefault(tuple(ranges), len(self.sets)) if is_used else 0
            for ranges, is_used in zip(members, used, strict=True)
        ]
        rows = np.column_stack((table.trans, table.accepting)).astype(np.int32)
        header = np.array([n_states, width, *numbers], np.int32)
        self._embedded.append(np.concatenate((header, rows.ravel())))
        size: int = n_states + 2 * int(np.count_nonzero(table.trans))
        return size


def single_character(item: Regular, *, behind: bool) -> tuple[CharSet, bool] | None:
    """The set that a look at one character looks for, and whether the edge will do as well."""
    members = CharSet(())
    edge = False
    for option in item.options if isinstance(item, Union) else (item,):
        if isinstance(option, Chars):
            members = members.union(option.set)
        elif isinstance(option, Assert) and option.kind == ("start" if behind else "end"):
            edge = True
        else:
            return None
    return members, edge


def _plain_repeat(node: Repeat) -> tuple[Regular, int, int | None]:
    """Item, min and max of a repeat, with repeats of repeats merged where that is exact.

    ``(x?){9}`` would otherwise have sets of 9 positions, and ``(x*)*`` loops of loops.
    """
    inner: Regular = node.item
    low, high = node.min, node.max
    while isinstance(inner, Repeat) and high != 0:
        if (inner.min, inner.max) == (0, 1):
            low = 0
        elif inner.min <= 1 and inner.max is None:
            low *= inner.min
            high = None
        else:
            break
        inner = inner.item
    return inner, low, high


@kernel("i8(i4[::1], i4[::1], i8[::1], i4[:, ::1], i4[:, ::1])")
def link(
    program: IntArray,
    embedded: IntArray,
    embedded_start: OffsetArray,
    nodes: IntArray,
    frames: IntArray,
) -> int:
    """Run a program of :class:`Assembler` -> the entry node.

    Args:
        program: int32[3 * n_instructions].
        embedded: int32[...], automata for ``_EMBED``: number of states, number of classes, a
            set per class, then per state its transitions and whether it accepts.
        embedded_start: int64[...], where each of them begins.
        nodes: filled, see the module docstring; how many are used is in ``frames[0, 0]``.
        frames: int32[n_instructions + 1, 6]. Of options (continuation, entry so far), of loops
            (continuation, finished copies, node of the way back, instruction of the body, min,
            max).
    """
    nodes[FINAL, 0] = FINAL
    nodes[FAIL, 0] = FAIL
    count = 2
    n_instructions = program.shape[0] // 3
    depth = 0
    follow = FINAL  # the entry of everything built so far
    at = 0
    while at < n_instructions:
        op = program[3 * at]
        x = program[3 * at + 1]
        y = program[3 * at + 2]
        at += 1
        if op < SPLIT:
            nodes[count, 0] = op
            nodes[count, 1] = x
            nodes[count, 2] = follow
            follow = count
            count += 1
        elif op == _OPTIONS:
            frames[depth, 0] = follow
            frames[depth, 1] = FAIL
            depth += 1
        elif op == _OPTION:
            if frames[depth - 1, 1] == FAIL:
                frames[depth - 1, 1] = follow
            else:
                nodes[count, 0] = SPLIT
                nodes[count, 2] = follow
                nodes[count, 3] = frames[depth - 1, 1]
                frames[depth - 1, 1] = count
                count += 1
            follow = frames[depth - 1, 0]
        elif op == _OPTIONS_END:
            depth -= 1
            follow = frames[depth, 1]
        elif op == _LOOP:
            frames[depth, 0] = follow
            frames[depth, 1] = 0
            frames[depth, 2] = count
            frames[depth, 3] = at
            frames[depth, 4] = x
            frames[depth, 5] = y
            depth += 1
            if y < 0:
                nodes[count, 0] = SPLIT
                nodes[count, 3] = follow
                follow = count
                count += 1
        elif op == _LOOP_END:
            low = frames[depth - 1, 4]
            high = frames[depth - 1, 5]
            copies = frames[depth - 1, 1]
            if high < 0:
                if copies == 0:
                    back = frames[depth - 1, 2]
                    nodes[back, 2] = follow
                    if low == 0:
                        follow = back
            elif copies < high - low:
                nodes[count, 0] = SPLIT
                nodes[count, 2] = follow
                nodes[count, 3] = frames[depth - 1, 0]
                follow = count
                count += 1
            frames[depth - 1, 1] = copies + 1
            if copies + 1 < (max(low, 1) if high < 0 else high):
                at = frames[depth - 1, 3]
            else:
                depth -= 1
        else:
            data = embedded_start[x]
            n_states = embedded[data]
            width = embedded[data + 1]
            rows = data + 2 + width
            heads = count
            count += n_states
            for s in range(1, n_states):
                row = rows + s * (width + 1)
                entry = follow if embedded[row + width] != 0 else FAIL
                for c in range(width):
                    if embedded[row + c] != 0:
                        nodes[count, 0] = CHAR
                        nodes[count, 1] = embedded[data + 2 + c]
                        nodes[count, 2] = heads + embedded[row + c]
                        nodes[count + 1, 0] = SPLIT
                        nodes[count + 1, 2] = count
                        nodes[count + 1, 3] = entry
                        entry = count + 1
                        count += 2
                nodes[heads + s, 0] = SPLIT
                nodes[heads + s, 2] = entry
                nodes[heads + s, 3] = FAIL
            follow = heads + 1
    frames[0, 0] = count
    return follow
