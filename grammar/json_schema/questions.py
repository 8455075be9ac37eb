"""Questions that depend on each other, answered on one explicit stack.

A question is a :class:`Goal`; its *steps* are a generator that yields other goals and receives
their answers. Nothing recurses in Python, so schemas may be as deep as they like.

What to answer when a goal comes up that is already open further down:

* ``INHABITED``: no. A least fixpoint is asked for: an object that requires itself has no finite
  value. A "no" that rests on such a guess is provisional: it becomes firm when the question
  guessed about is answered no itself, and is forgotten when that is answered yes (the idea of
  Tarjan's component roots). "Yes" never rests on a guess, because steps are monotone.
* ``FORM`` and ``CASES``: what :meth:`Solver.reentered` says, which may raise. Forms above the
  open one then rest on a guess and are not kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Goal", "Kind", "Solver", "Steps"]


class Kind(IntEnum):
    """What is asked about a subject.

    ``FORM``: the canonical form of a term or site. ``INHABITED``: whether a term holds a value.
    ``OVERLAP``: whether a canonical form does (never kept: forms are not interned).
    ``CASES``: a form split by what is evaluated, see :mod:`.evaluation`.
    """

    FORM = 0
    INHABITED = 1
    OVERLAP = 2
    CASES = 3


_FORMS = (Kind.FORM, Kind.CASES)


class Goal(NamedTuple):
    """One question. ``loose`` asks for an answer that may err towards more values."""

    kind: Kind
    subject: Any
    loose: bool


Steps: TypeAlias = Generator[Goal, Any, Any]


@dataclass(slots=True)
class _Frame:
    """One open question.

    Attributes:
        lowest: the lowest frame about which this answer, if it is no, rests on a guess.
        provisional: how many provisional answers there were when it opened.
        partial: a form that rests on a guess.
    """

    goal: Goal
    steps: Steps
    lowest: int
    provisional: int
    partial: bool = False


@dataclass(slots=True)
class _Run:
    """The stack of one top-level question, and answers "no" that hold only within it."""

    frames: list[_Frame] = field(default_factory=list)
    open: dict[Goal, int] = field(default_factory=dict)
    provisional: dict[Goal, int] = field(default_factory=dict)


class Solver(ABC):
    """Keeps answers and finds those that are missing.

    Attributes:
        answers: firm answers by goal.
    """

    def __init__(self) -> None:
        self.answers: dict[Goal, Any] = {}

    @abstractmethod
    def steps(self, goal: Goal) -> Steps:
        """How to answer a goal."""

    def shortcut(self, goal: Goal) -> Any:
        """A firm answer that needs no steps, or ``None``."""
        return None

    @abstractmethod
    def reentered(self, goals: list[Goal]) -> Any:
        """The answer to the form or cases ``goals[0]``, up again through all the others."""

    def solve(self, goal: Goal) -> Any:
        """The answer to a goal."""
        run = _Run()
        self._push(run, goal)
        answer: Any = None
        while run.frames:
            frame = run.frames[-1]
            try:
                wanted = frame.steps.send(answer)
            except StopIteration as stop:
                answer = stop.value
                self._pop(run, answer)
                continue
            answer = None
            if wanted.kind is not Kind.OVERLAP:
                answer = self.answers.get(wanted)
                if answer is None:
                    answer = self.shortcut(wanted)
                if answer is None:
                    answer = self._guess(run, wanted)
            if answer is None:
                self._push(run, wanted)
        return answer

    def _push(self, run: _Run, goal: Goal) -> None:
        place = len(run.frames)
        if goal.kind is not Kind.OVERLAP:
            run.open[goal] = place
        run.frames.append(_Frame(goal, self.steps(goal), place, len(run.provisional)))

    def _guess(self, run: _Run, goal: Goal) -> Any:
        """An answer that rests on what is open, or ``None``."""
        frame = run.frames[-1]
        place = run.open.get(goal)
        if goal.kind is Kind.INHABITED:
            rests_on = run.provisional.get(goal) if place is None else place
            if rests_on is None:
                return None
            frame.lowest = min(frame.lowest, rests_on)
            return False
        if place is None:
            return None
        answer = self.reentered([above.goal for above in run.frames[place:]])
        for above in run.frames[place + 1 :]:
            above.partial = True
        return answer

    def _pop(self, run: _Run, answer: Any) -> None:
        frame = run.frames.pop()
        goal = frame.goal
        if goal.kind is not Kind.OVERLAP:
            del run.open[goal]
        if goal.kind in _FORMS:
            if not frame.partial:
                self.answers[goal] = answer
            return
        if answer or frame.lowest >= len(run.frames):
            # Firm. Provisional answers since it opened may rest on it: with a yes they are
            # forgotten, with a no they hold.
            if len(run.provisional) > frame.provisional:
                for other in list(run.provisional)[frame.provisional :]:
                    del run.provisional[other]
                    if not answer:
                        self.answers[other] = False
            if goal.kind is Kind.INHABITED:
                self.answers[goal] = answer
            return
        if goal.kind is Kind.INHABITED:
            run.provisional[goal] = frame.lowest
        if run.frames:
            below = run.frames[-1]
            below.lowest = min(below.lowest, frame.lowest)
