"""Exact automata for lookaheads and lookbehinds.

A backtracking matcher tests a look where it stands. An automaton reads the text once, so

* a *lookbehind* is an automaton that reads along from the start of the text; at each position
  it says whether some suffix of the text so far matches its item;
* a *lookahead* becomes a **duty** of the thread that passes it: from there on, the rest of the
  text must be in the language of its item followed by anything. A duty is a state of that
  language's DFA, or of its complement if the lookahead is negated, and steps with the thread;
* a condition on one neighbour (see :mod:`.neighbours`) is known when it is *before*, and a duty
  when it is *after*.

This is subset construction for an alternating automaton: a state is a set of threads
``(NFA node, set of duties)``; a text is accepted if some thread is at the end with all its
duties accepting. A thread whose duties include another's at the same node says less and is
dropped; a duty to anything at all is no duty.

Looks nest, and each kind may look out of the other: ``(?=a(?<=xa))`` sees what stands before
it, ``(?<=a(?=b))`` what comes after. So the states of lookbehinds are sets of threads with
duties too, whether one matches is a *formula* (any of these sets of duties), and the language
of a lookahead depends on the lookbehinds' states where it begins: its DFA is built per such
moment, by the same construction, and canonical, so that equal duties coincide.

All automata share one alphabet. The construction is Python: it is reached only by trees with
looks that :mod:`.language` could not take apart. States are bounded by ``Limits.dfa_states``,
the work as a whole by ``WORK_PER_STATE`` steps per allowed state.

Rejected: guessing the truth of every look at every position and verifying it (the same power,
but the guesses multiply the states before they can be refuted).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ...errors import LimitError
from ..regular import ANY_TEXT, Concat, Regular
from .alphabet import classes_of
from .minimal import canonical
from .neighbours import ANY, Condition, holds
from .table import BoolArray, IntArray, Table
from .thompson import AHEAD, BEHIND, CHAR, FINAL, LOOK, SPLIT, Assembler

__all__ = [
    "Construction",
    "Duties",
    "Program",
    "Threads",
    "language_with_looks",
    "look_programs",
]

WORK_PER_STATE = 100
MAX_LOOK_NESTING = 50

Duties: TypeAlias = frozenset[int]
Thread: TypeAlias = tuple[int, Duties]
Threads: TypeAlias = frozenset[Thread]
Formula: TypeAlias = list[Duties]
"""Some of these sets of duties must be met: ``[]`` is false, ``[frozenset()]`` true."""

_NONE: Duties = frozenset()
_NEVER, _ALWAYS = 0, 1  # the duties to nothing and to anything; negation flips the last bit


def language_with_looks(root: Regular, assembler: Assembler) -> Table:
    """Canonical table of a tree with looks.

    Args:
        assembler: a new one.

    Raises:
        LimitError: ``nfa_states``, ``dfa_states``, or looks nested too deep.
    """
    main = Program.of(root, assembler)
    construction = Construction.of(look_programs(assembler), assembler)
    construction.resolve(main)
    before = construction.edge
    states = construction.advance(main.reads, None, before)
    trans, accepting = construction.determinize(main, before, states)
    return canonical(Table(construction.cuts, construction.interval_class, trans, accepting))


def look_programs(assembler: Assembler) -> list[Program]:
    """The programs of all looks that an assembler has met, and of those inside them.

    Raises:
        LimitError: ``nfa_states``, or looks nested too deep.
    """
    looks: list[Program] = []
    depths = [1] * len(assembler.looks)
    while len(looks) < len(assembler.looks):
        number = len(looks)
        item, behind = assembler.looks[number]
        whole = Concat((ANY_TEXT, item) if behind else (item, ANY_TEXT))
        looks.append(Program.of(whole, assembler, behind=behind))
        nested = [depths[number] + 1] * (len(assembler.looks) - len(depths))
        depths.extend(nested)
        if depths[-1] > MAX_LOOK_NESTING:
            raise LimitError(
                stage="nesting of lookarounds",
                limit="nfa_states",
                allowed=MAX_LOOK_NESTING,
                actual=depths[-1],
                culprit=assembler.culprit,
            )
    return looks


@dataclass(slots=True, eq=False)
class Program:
    """One NFA and what it tests.

    Attributes:
        tests: numbers of the looks that its nodes test.
        reads: numbers of the lookbehinds that it depends on, also through looks that it
            tests, each after those that it depends on itself.
        looks_back: whether it, or a look that it tests, has a condition on the character
            before.
    """

    nodes: list[list[int]]
    entry: int
    behind: bool
    tests: list[int]
    reads: tuple[int, ...] = ()
    looks_back: bool = False
    resolved: bool = False

    @staticmethod
    def of(root: Regular, assembler: Assembler, *, behind: bool = False) -> Program:
        array, entry = assembler.assemble(root)
        return Program.of_nodes(array.tolist(), entry, behind=behind)

    @staticmethod
    def of_nodes(nodes: list[list[int]], entry: int, *, behind: bool = False) -> Program:
        tests = sorted({arg >> 1 for op, arg, _, _ in nodes if op == LOOK})
        looks_back = any(op == BEHIND for op, _, _, _ in nodes)
        return Program(nodes, entry, behind, tests, looks_back=looks_back)


@dataclass(slots=True)
class Construction:
    """The subset construction of one tree, with all duties that it meets.

    Symbols are the classes and, as what is before the first character, ``edge``.
    ``steps[d][c]`` is the duty after a character of class ``c``, ``done[d]`` whether duty ``d``
    allows the text to end. ``d ^ 1`` is the negation of ``d``.
    """

    looks: list[Program]
    cuts: IntArray
    interval_class: IntArray
    member: BoolArray
    surrogates: int
    assembler: Assembler
    steps: list[Sequence[int]] = field(default_factory=list)
    done: list[bool] = field(default_factory=list)
    edge: int = 0
    work: int = 0
    _reads_symbol: list[list[bool]] = field(default_factory=list)
    _behind: list[list[bool]] = field(default_factory=list)
    _kind_before: list[int] = field(default_factory=list)
    _duty_ahead: list[int] = field(default_factory=list)
    _registered: dict[bytes, int] = field(default_factory=dict)
    _ahead: dict[object, int] = field(default_factory=dict)
    _advanced: dict[object, tuple[Threads, ...]] = field(default_factory=dict)
    _stepped: dict[tuple[Duties, int], Duties | None] = field(default_factory=dict)

    @staticmethod
    def of(looks: list[Program], assembler: Assembler) -> Construction:
        """With an alphabet for everything that the assembler has met: it is done assembling."""
        cuts, ranges, set_start = assembler.partition_arguments()
        interval_class, member = classes_of(cuts, ranges, set_start)
        surrogates = int(interval_class[np.searchsorted(cuts, 0xD800, side="right") - 1])
        return Construction(looks, cuts, interval_class, member, surrogates, assembler)

    def __post_init__(self) -> None:
        width = self.edge = self.member.shape[1]
        self.steps += [[_NEVER] * width, [_ALWAYS] * width]
        self.done += [False, True]
        self._reads_symbol = self.member.tolist()
        behind = [holds(condition, self.member) for condition in self.assembler.behind]
        self._behind = [row.tolist() for row in behind]
        # Symbols that the same conditions hold after are alike.
        kinds: dict[tuple[bool, ...], int] = {}
        for symbol in range(width + 1):
            truth = tuple(row[symbol] for row in self._behind)
            self._kind_before.append(kinds.setdefault(truth, len(kinds)))
        self._duty_ahead = [self._neighbour_duty(c) for c in self.assembler.ahead]

    # ------------------------------------------------------------------ looks

    def resolve(self, program: Program) -> None:
        """Fill in what a program depends on. Recursion is bounded by ``MAX_LOOK_NESTING``."""
        if program.resolved:
            return
        program.resolved = True
        reads: dict[int, None] = {}
        for number in program.tests:
            look = self.looks[number]
            self.resolve(look)
            reads.update(dict.fromkeys(look.reads))
            if look.behind:
                reads[number] = None
            program.looks_back = program.looks_back or look.looks_back
        program.reads = tuple(reads)

    def advance(
        self, reads: tuple[int, ...], states: tuple[Threads, ...] | None, symbol: int
    ) -> tuple[Threads, ...]:
        """States of the lookbehinds after a symbol; ``None`` is before the start of the text."""
        key = (reads, states, symbol)
        known = self._advanced.get(key)
        if known is None:
            current: dict[int, Threads] = {}
            for i, number in enumerate(reads):
                look = self.looks[number]
                seeds = (
                    [(look.entry, _NONE)] if states is None else self._step(look, states[i], symbol)
                )
                current[number] = self._close(look, seeds, symbol, current)
            known = self._advanced[key] = tuple(current.values())
        return known

    def _holds(self, number: int, before: int, states: dict[int, Threads]) -> Formula:
        """When look ``number`` holds at a moment: after symbol ``before``, with these states."""
        look = self.looks[number]
        if look.behind:
            return [duties for node, duties in states[number] if node == FINAL]
        moment = tuple(states[read] for read in look.reads)
        key = (number, self._kind_before[before] if look.looks_back else -1, moment)
        duty = self._ahead.get(key)
        if duty is None:
            duty = self._ahead[key] = self._register(*self.determinize(look, before, moment))
        needed = _joined(_NONE, (duty,))
        return [] if needed is None else [needed]

    def _negation(self, formula: Formula) -> Formula:
        """One duty of every set must fail."""
        results: set[Duties] = {_NONE}
        for duties in formula:
            choices = {_joined(result, (duty ^ 1,)) for result in results for duty in duties}
            results = {choice for choice in choices if choice is not None}
            self._count(len(choices))
            results = {r for r in results if not any(other < r for other in results)}
        return list(results)

    def _neighbour_duty(self, condition: Condition) -> int:
        """The duty to go on with a character of a set, or not to."""
        number, negative = condition
        trans = np.zeros((3, self.edge), np.int32)
        trans[1] = 2 if number == ANY else 2 * self.member[number]
        trans[2] = 2
        trans[:, self.surrogates] = 0
        return self._register(trans, np.array([False, False, True])) ^ negative

    def _register(self, trans: IntArray, accepting: BoolArray) -> int:
        """The duty of a language, given as a raw table over the shared classes."""
        classes = np.arange(trans.shape[1], dtype=np.int32)
        raw = Table(classes, classes, trans, accepting)
        cuts, merged, trans, accepting = canonical(raw)
        trans = trans[:, merged[np.searchsorted(cuts, classes, side="right") - 1]]
        key = trans.tobytes() + accepting.tobytes()
        start = self._registered.get(key)
        if start is None:
            rows = trans.tolist()
            flags = accepting.tolist()
            base = len(self.steps) - 2
            duty_of = [_NEVER] + [base + 2 * s for s in range(1, len(rows))]
            for s, row in enumerate(rows):
                others = row[: self.surrogates] + row[self.surrogates + 1 :]
                if flags[s] and all(t == s for t in others):
                    duty_of[s] = _ALWAYS
                elif s and not flags[s] and not any(others):
                    duty_of[s] = _NEVER  # the start of the empty language
            for s in range(1, len(rows)):
                for negated in (0, 1):
                    self.steps.append([duty_of[t] ^ negated for t in rows[s]])
                    self.done.append(flags[s] != bool(negated))
            start = self._registered[key] = duty_of[1]
        return start

    # ------------------------------------------------------------------ threads

    def determinize(
        self, program: Program, before: int, behind: tuple[Threads, ...]
    ) -> tuple[IntArray, BoolArray]:
        """Raw table over the shared classes, from a moment on; see :meth:`explore`."""
        order, rows = self.explore(program, before, behind)
        accepting = [False]
        for threads in order:
            accepting.append(
                any(node == FINAL and all(self.done[d] for d in duties) for node, duties in threads)
            )
        return np.array(rows, np.int32), np.array(accepting, np.bool_)

    def explore(
        self, program: Program, before: int, behind: tuple[Threads, ...]
    ) -> tuple[list[Threads], list[list[int]]]:
        """The states of the subset construction from a moment on.

        Args:
            before: the symbol before that moment.
            behind: states of ``program.reads`` at that moment.

        Returns:
            The threads of the states 1, 2, …; and the transitions of 0, 1, 2, …
        """
        limits = self.assembler.limits
        width = self.edge
        moment = dict(zip(program.reads, behind, strict=True))
        first = self._close(program, [(program.entry, _NONE)], before, moment)
        numbers = {(first, behind): 1}
        order = [(first, behind)]
        rows = [[0] * width]
        for threads, states in order:
            row = [0] * width
            for c in range(width):
                if c == self.surrogates:
                    continue
                seeds = self._step(program, threads, c)
                if not seeds:
                    continue
                after = self.advance(program.reads, states, c)
                moment = dict(zip(program.reads, after, strict=True))
                closed = self._close(program, seeds, c, moment)
                if not closed:
                    continue
                key = (closed, after)
                number = numbers.get(key)
                if number is None:
                    number = numbers[key] = len(numbers) + 1
                    order.append(key)
                    if number > limits.dfa_states:
                        self._fail(number)
                row[c] = number
            rows.append(row)
        return [threads for threads, _ in order], rows

    def _step(self, program: Program, threads: Threads, symbol: int) -> list[Thread]:
        result: list[Thread] = []
        for node, duties in threads:
            op, arg, follow, _ = program.nodes[node]
            if op == CHAR and self._reads_symbol[arg][symbol]:
                rest = self.step_duties(duties, symbol)
                if rest is not None:
                    result.append((follow, rest))
        return result

    def step_duties(self, duties: Duties, symbol: int) -> Duties | None:
        """What is left of duties after a symbol; ``None`` if they cannot be met any more."""
        if not duties:
            return duties
        key = (duties, symbol)
        if key in self._stepped:
            return self._stepped[key]
        result = _joined(_NONE, [self.steps[d][symbol] for d in duties])
        self._stepped[key] = result
        return result

    def _close(
        self,
        program: Program,
        seeds: Iterable[Thread],
        before: int,
        states: dict[int, Threads],
    ) -> Threads:
        """Threads at ``CHAR`` and ``FINAL`` nodes reachable without reading.

        Args:
            before: the symbol just read.
            states: of the lookbehinds that ``program`` reads.
        """
        todo = list(seeds)
        seen = set(todo)
        kept: dict[int, list[Duties]] = {}
        formulas: dict[int, Formula] = {}
        while todo:
            node, duties = todo.pop()
            op, arg, follow, other = program.nodes[node]
            if op in (CHAR, FINAL):
                kept.setdefault(node, []).append(duties)
                continue
            reached: list[Thread] = []
            if op == SPLIT:
                reached = [(other, duties), (follow, duties)]
            elif op == BEHIND:
                if self._behind[arg][before]:
                    reached = [(follow, duties)]
            elif op == AHEAD:
                more = _joined(duties, (self._duty_ahead[arg],))
                if more is not None:
                    reached = [(follow, more)]
            elif op == LOOK:
                formula = formulas.get(arg)
                if formula is None:
                    formula = self._holds(arg >> 1, before, states)
                    if arg & 1:
                        formula = self._negation(formula)
                    formulas[arg] = formula
                for needed in formula:
                    more = _joined(duties, needed)
                    if more is not None:
                        reached.append((follow, more))
            for thread in reached:
                if thread not in seen:
                    seen.add(thread)
                    todo.append(thread)
        self._count(len(seen))
        result: list[Thread] = []
        for node, options in kept.items():
            if len(options) > 1:
                self._count(len(options) ** 2)
                options = [o for o in options if not any(less < o for less in options)]
            result.extend((node, duties) for duties in options)
        return frozenset(result)

    # ------------------------------------------------------------------ limits

    def _count(self, steps: int) -> None:
        self.work += steps
        allowed = self.assembler.limits.dfa_states * WORK_PER_STATE
        if self.work > allowed:
            self._fail(self.assembler.limits.dfa_states + 1)

    def _fail(self, actual: int) -> None:
        raise LimitError(
            stage="determinization of lookarounds",
            limit="dfa_states",
            allowed=self.assembler.limits.dfa_states,
            actual=actual,
            culprit=self.assembler.culprit,
        )


def _joined(duties: Duties, more: Iterable[int]) -> Duties | None:
    """Both sets of duties, without trivial ones; ``None`` if they contradict each other."""
    result = duties.union(more) - {_ALWAYS}
    if _NEVER in result or any(duty ^ 1 in result for duty in result):
        return None
    return result
