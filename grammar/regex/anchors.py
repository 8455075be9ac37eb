"""From a pattern's tree to a whole-text language: full match and search.

*Full match* is the tree itself; anchors at its ends hold there and are dropped. *Search* is
``ANY_TEXT tree ANY_TEXT``, where

* an end that is anchored (in each alternative by itself) needs no ``ANY_TEXT`` and no anchor;
* next to ``ANY_TEXT`` an item that can be empty adds nothing, and a repeat needs only its
  minimum: ``.*x{1,9}`` means the same as ``x`` there.

Anchors elsewhere stay :class:`Assert` nodes; the automata handle them at a price. Both rewrites
are exact. Only the outermost concatenations and unions are looked at, from their ends, so each
costs time linear in the number of alternatives.

Python's ``$`` also holds before a line feed at the very end. It is the node :data:`FINAL_LINE`;
at the end of a search it becomes an optional line feed, at the end of a full match nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..regular import (
    ANY_TEXT,
    EMPTY,
    Assert,
    Chars,
    CharSet,
    Concat,
    Look,
    Regular,
    Repeat,
    Union,
    concat,
    repeat,
)
from .tree import either, is_plain

__all__ = ["END", "FINAL_LINE", "START", "matching_whole_text", "matching_within_text"]

START = Assert("start")
END = Assert("end")
_OPTIONAL_LINE_FEED = Repeat(Chars(CharSet.single(0x0A)), 0, 1)
FINAL_LINE = Look(Concat((_OPTIONAL_LINE_FEED, END)), behind=False, negative=False)

_End = Literal["front", "back"]
_AT_TEXT_END: dict[_End, tuple[Regular, ...]] = {
    "front": (START,),
    "back": (END, FINAL_LINE),
}


def matching_whole_text(tree: Regular) -> Regular:
    """The texts that the pattern matches from start to end."""

    def finish(asserts: list[Regular], end: _End) -> tuple[Regular, ...]:
        return ()

    return _at_end(_at_end(tree, "front", finish, absorbing=False), "back", finish, absorbing=False)


def matching_within_text(tree: Regular) -> Regular:
    """The texts in which the pattern matches somewhere."""

    def finish(asserts: list[Regular], end: _End) -> tuple[Regular, ...]:
        if not asserts:
            return (ANY_TEXT,)
        # Several hold together: a strict end is stronger than one before a line feed.
        return () if START in asserts or END in asserts else (_OPTIONAL_LINE_FEED,)

    return _at_end(_at_end(tree, "front", finish, absorbing=True), "back", finish, absorbing=True)


def _at_end(
    tree: Regular,
    end: _End,
    finish: Callable[[list[Regular], _End], tuple[Regular, ...]],
    *,
    absorbing: bool,
) -> Regular:
    """Replace the anchors at one end of a tree by what ``finish`` returns for them.

    ``absorbing``: without anchors ``finish`` returns ``ANY_TEXT``, which swallows what may be
    empty next to it.
    """
    if isinstance(tree, Union):
        options = [_at_end(o, end, finish, absorbing=absorbing) for o in tree.options]
        return _with_common_any_text(options, end) if absorbing else either(options)
    items = list(tree.items if isinstance(tree, Concat) else (tree,))
    if end == "front":
        items.reverse()
    # From here on the end in question is the end of the list.
    anchors: list[Regular] = []
    conditions: list[Regular] = []
    while items:
        item = items[-1]
        if item in _AT_TEXT_END[end]:
            anchors.append(items.pop())
        elif isinstance(item, Assert | Look):
            conditions.append(items.pop())
        elif absorbing and not anchors and not conditions and _drops_to(item) != item:
            items[-1:] = [_drops_to(item)]
            if items[-1] == EMPTY:
                items.pop()
        else:
            break
    if not anchors and not conditions and items and isinstance(items[-1], Union | Concat):
        items[-1] = _at_end(items[-1], end, finish, absorbing=absorbing)
    elif not (items and items[-1] == ANY_TEXT and absorbing and not anchors and not conditions):
        items.extend(reversed(conditions))
        items.extend(finish(anchors, end))
    if end == "front":
        items.reverse()
    return concat(items)


def _with_common_any_text(options: list[Regular], end: _End) -> Regular:
    """The union, with ``ANY_TEXT`` at this end taken out of the options that have it."""
    edge = 0 if end == "front" else -1
    anchored: list[Regular] = []
    unanchored: list[Regular] = []
    for option in options:
        if option == ANY_TEXT:
            return ANY_TEXT  # The others are part of it.
        if isinstance(option, Concat) and option.items and option.items[edge] == ANY_TEXT:
            unanchored.append(concat(option.items[1:] if edge == 0 else option.items[:-1]))
        else:
            anchored.append(option)
    if unanchored:
        body = either(unanchored)
        anchored.append(concat([ANY_TEXT, body] if edge == 0 else [body, ANY_TEXT]))
    return either(anchored)


def _drops_to(item: Regular) -> Regular:
    """What is left of an item next to ``ANY_TEXT``."""
    if not isinstance(item, Repeat) or item == ANY_TEXT or not is_plain(item.item):
        return item
    return repeat(item.item, item.min, item.min)
