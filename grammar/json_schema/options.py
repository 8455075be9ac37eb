"""What a JSON Schema leaves open about the text: one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from ...errors import GrammarError
from .numbers import DigitBounds

__all__ = [
    "CHOICES",
    "FLEXIBLE_RUN",
    "INDENT_LIMIT",
    "JsonOptions",
    "PropertyOrder",
    "WhitespaceMode",
]

WhitespaceMode = Literal["default", "compact", "indented", "flexible"]
PropertyOrder = Literal["schema", "any"]

INDENT_LIMIT = 40
"""Spaces or tabs after a newline in the whitespace modes ``"default"`` and ``"indented"``."""

FLEXIBLE_RUN = 64
"""Whitespace characters in a row in mode ``"flexible"``: no model can run away in blanks."""

CHOICES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("whitespace", get_args(WhitespaceMode)),
    ("property_order", get_args(PropertyOrder)),
    ("additional_properties", ("schema", "closed")),
    ("formats", ("assert", "annotate")),
)
"""The options that are one of some words, the default first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """How a value may be written, and what is done with the undecidable parts of a schema.

    Attributes:
        whitespace: ``"default"`` is what ``json.dumps`` writes: compact, with its default
            separators, or indented (at most :data:`INDENT_LIMIT` blanks a line).
            ``"compact"`` is none at all; ``"indented"`` is a new line before each further
            member and item; ``"flexible"`` is up to :data:`FLEXIBLE_RUN`
            blanks, tabs and line ends wherever JSON allows them, around the text too.
        property_order: ``"schema"``: declared properties in the order of the schema, then
            additional ones. ``"any"``: in any order, each declared one at most once. What a
            parse has seen is then part of its state, so masks are shared by fewer texts.
        additional_properties: ``"schema"``: undeclared properties as the schema says;
            ``"closed"``: objects that say nothing about them have none.
        digits: bounds on the digits of a number.
        formats: ``"assert"`` enforces the formats that are known, ``"annotate"`` none.
        relax: keywords that the user agrees to drop wherever they cannot be enforced
            (and wherever they can). Each use is listed in ``grammar.diagnostics``.
    """

    whitespace: WhitespaceMode = "default"
    property_order: PropertyOrder = "schema"
    additional_properties: Literal["schema", "closed"] = "schema"
    digits: DigitBounds = field(default_factory=DigitBounds)
    formats: Literal["assert", "annotate"] = "assert"
    relax: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in CHOICES:
            value: object = getattr(self, name)
            if value not in allowed:
                raise GrammarError(
                    f"JsonOptions.{name} is {value!r}; write one of "
                    + ", ".join(repr(choice) for choice in allowed)
                )
        relax: object = self.relax
        if not isinstance(relax, tuple) or not all(isinstance(word, str) for word in relax):
            raise GrammarError(
                f"JsonOptions.relax is {relax!r}; write a tuple of keyword names, such as "
                "('uniqueItems',)"
            )
