"""JSON values in a canonical form: equal values, equal forms.

``1`` and ``1.0`` are one number, the order of properties does not count, and ``true`` is no number.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable
from decimal import Decimal
from typing import Any, TypeAlias

from ...errors import LimitError
from .numbers import exact

__all__ = ["Value", "canonical", "canonical_of_text", "value_of"]

Value: TypeAlias = tuple[str, Hashable]
"""Type and what is compared: JSON's ``1`` is not ``true``, but Python's is."""


def canonical_of_text(text: str | bytes) -> Value:
    """The canonical form of the value of a JSON text.

    Raises:
        LimitError: it is nested too deeply.
    """
    try:
        return canonical(json.loads(text, parse_float=Decimal))
    except RecursionError:
        raise LimitError(
            stage="comparing the items of an array that must differ",
            limit="Python's recursion limit",
            allowed=sys.getrecursionlimit(),
            actual=sys.getrecursionlimit() + 1,
        ) from None


def canonical(value: Any) -> Value:
    """The canonical form of a JSON value, numbers of any of Python's types."""
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, list):
        return "array", tuple(map(canonical, value))
    if isinstance(value, dict):
        return "object", frozenset((key, canonical(item)) for key, item in value.items())
    return "number", exact(value)


def value_of(form: Value) -> Any:
    """The JSON value with a canonical form, for the ``const`` of a schema made up here.

    Numbers are fractions, which means them in any spelling: nobody wrote one.
    """
    kind, value = form
    if kind == "array":
        assert isinstance(value, tuple)
        return [value_of(item) for item in value]
    if kind == "object":
        assert isinstance(value, frozenset)
        return {key: value_of(item) for key, item in value}
    return value
