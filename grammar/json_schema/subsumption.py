"""Dropping alternatives that plainly lie within another one.

Complements of objects are unions ("a is missing, or b is wrong, or …"), so intersecting several
is a product of unions in which most alternatives are special cases of others. Only literal
inclusion is tested: every constraint of one node is also one of the other.
"""

from __future__ import annotations

from .nodes import FALSE, TRUE, ObjectNode, Term

__all__ = ["without_subsumed"]

_LIMIT = 400
"""Larger unions are left as they are: the test is quadratic."""


def without_subsumed(nodes: tuple[ObjectNode, ...]) -> tuple[ObjectNode, ...]:
    """Drop nodes that plainly lie within another one; without that, complements explode."""
    if not 2 <= len(nodes) <= _LIMIT:
        return nodes
    kept: list[tuple[ObjectNode, dict[str, Term]]] = []
    for node in nodes:
        terms = dict(node.named)
        if any(_is_within(node, terms, other) for other, _ in kept):
            continue
        kept = [(o, t) for o, t in kept if not _is_within(o, t, node)]
        kept.append((node, terms))
    return tuple(node for node, _ in kept)


def _is_within(node: ObjectNode, terms: dict[str, Term], other: ObjectNode) -> bool:
    """Whether every constraint of ``other`` is also one of ``node``, given as a dict too."""
    if not (
        other.required <= node.required
        and other.min <= node.min
        and (other.max is None or (node.max is not None and node.max <= other.max))
        and other.shut == node.shut
        and _is_part(other.names, node.names)
        and set(other.obligations) <= set(node.obligations)
        and set(other.layers) <= set(node.layers)
    ):
        return False
    for key, term in other.named:
        mine = terms.get(key, TRUE)
        if mine is not FALSE and not _is_part(term, mine):
            return False
    if other.layers or other.shut:
        # A layer exempts the names declared beside it, and the other node may have fewer.
        declared = {key for key, _ in other.named}
        for key, mine in node.named:
            if key in declared or mine is FALSE:
                continue
            if other.shut or any(
                layer.patterns or not _is_part(layer.additional, mine) for layer in other.layers
            ):
                return False
    return True


def _is_part(term: Term, whole: Term) -> bool:
    return term is whole or (
        term is not FALSE and all(literal in whole.literals for literal in term.literals)
    )
