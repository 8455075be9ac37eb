"""Which items an array may have next, and whether it can be completed.

A :class:`State` is what counts of an array that has been read in part: where the next item
stands, how many must follow, and what is left of each :class:`.nodes.Count` ("between two and
three items are in T"). An item *hits* some of the counts and misses the others. Where there is no
upper bound a miss says nothing, so that an item which would be a hit may pass for a miss: fewer
kinds of items, and no complement. With an upper bound, and wherever items must differ, a miss
is an item in the complement.

The steps are generators that yield the questions they depend on (:mod:`.questions`) and get the
answers sent in. Past the prefix and with at most one count there is a closed form; otherwise
states are searched, at most ``Limits.alternatives`` of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from .algebra import Algebra
from .nodes import ArrayNode, Term
from .questions import Goal, Kind, Steps

__all__ = ["ArrayItems", "Pending", "State"]

Pending: TypeAlias = tuple[int, int, int | None]
"""A count by its place in the node: at least and at most so many more hits."""


class State(NamedTuple):
    """An array read up to item ``place``: at least ``least`` more, with the counts pending."""

    place: int
    least: int
    pending: tuple[Pending, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the array may end here."""
        return self.least == 0 and all(least == 0 for _, least, _ in self.pending)


class ArrayItems:
    """The items of the array nodes of one algebra."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def first(self, node: ArrayNode) -> State:
        """Before any item."""
        counts = enumerate(node.counts)
        return State(0, node.min, _pending((i, c.least, c.most) for i, c in counts))

    def is_settled(self, node: ArrayNode, state: State) -> bool:
        """Whether all items from here on are of the same kinds, but for the pending counts."""
        return state.place >= len(node.prefix) and all(
            node.counts[i].start <= state.place for i, _, _ in state.pending
        )

    def steps(self, node: ArrayNode, state: State) -> Iterator[tuple[Term, State]]:
        """The kinds of the next item and what is left after it; those with most hits first.

        Whether there is such an item, and whether the array can be completed after it, is not
        looked at.
        """
        if node.max is not None and state.place >= node.max:
            return
        algebra, place = self._algebra, state.place
        due = [p for p in state.pending if node.counts[p[0]].start <= place]
        algebra.check_count(1 << len(due))
        after = place + 1
        if node.max is None:
            # Where nothing depends on it an index would only multiply the states.
            settled = [len(node.prefix), *(node.counts[i].start for i, _, _ in state.pending)]
            after = min(after, max(*settled, 1))
        for hit in _subsets(due):
            if any(most == 0 for _, _, most in hit):
                continue
            terms = [node.item(place)]
            left: list[Pending] = []
            for one in state.pending:
                i, least, most = one
                if one in hit:
                    terms.append(node.counts[i].term)
                    one = i, max(least - 1, 0), None if most is None else most - 1
                elif one in due and (most is not None or node.unique):
                    terms.append(algebra.negate(node.counts[i].term))
                left.append(one)
            yield algebra.conjoin(terms), State(after, max(state.least - 1, 0), _pending(left))

    def can_end(self, node: ArrayNode, state: State, loose: bool) -> Steps:
        """Whether some items from here on complete the array; that they differ is not asked."""
        open_ = [state]
        seen = {state}
        while open_:
            state = open_.pop()
            if state.is_complete:
                return True
            if self.is_settled(node, state) and len(state.pending) <= 1:
                answer = yield from self._can_end_settled(node, state, loose)
                if answer:
                    return True
                continue
            for term, after in reversed(list(self.steps(node, state))):
                if after in seen:
                    continue
                answer = yield Goal(Kind.INHABITED, term, loose)
                if answer:
                    seen.add(after)
                    self._algebra.check_count(len(seen))
                    open_.append(after)
        return False

    def _can_end_settled(self, node: ArrayNode, state: State, loose: bool) -> Steps:
        """The closed form: so many hits and misses, in any order."""
        room = None if node.max is None else node.max - state.place
        ((i, least, most),) = state.pending or ((-1, 0, 0),)
        wanted = max(least, state.least)
        if room is not None and wanted > room:
            return False
        hit, miss = node.rest, node.rest
        if i >= 0:
            term = node.counts[i].term
            hit = self._algebra.conjoin((hit, term))
            if most is not None or node.unique:
                miss = self._algebra.conjoin((miss, self._algebra.negate(term)))
        if least > 0:
            answer = yield Goal(Kind.INHABITED, hit, loose)
            if not answer:
                return False
        if wanted == least:
            return True
        answer = yield Goal(Kind.INHABITED, miss, loose)
        if not answer and i >= 0 and (most is None or wanted <= most):
            answer = yield Goal(Kind.INHABITED, hit, loose)
        return answer


def _pending(counts: Iterator[Pending] | list[Pending]) -> tuple[Pending, ...]:
    """Those that still say something."""
    return tuple(p for p in counts if p[1] > 0 or p[2] is not None)


def _subsets(due: list[Pending]) -> list[tuple[Pending, ...]]:
    result: list[tuple[Pending, ...]] = [()]
    for one in due:
        result += [(*chosen, one) for chosen in result]
    return sorted(result, key=len, reverse=True)
