"""How many examples a property gets: few by default, as many times more as the profile asks."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["effort"]

_DEFAULT = 100
"""``max_examples`` of the default profile."""


def effort(examples: int, **others: Any) -> settings:
    """Settings for this many examples in the default profile."""
    factor = settings().max_examples / _DEFAULT
    return settings(max_examples=max(1, round(examples * factor)), **others)
