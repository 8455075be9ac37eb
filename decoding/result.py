"""What generation returns: the value, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

__all__ = ["Done", "Event", "FinishReason", "Result", "TextDelta", "Trace"]

T = TypeVar("T")

FinishReason: TypeAlias = Literal["stop", "length", "error"]
"""``"stop"``: the text is complete; ``"length"``: ``max_tokens`` ran out; ``"error"``: the text
is complete, but a validator function of the type refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Counts over one generated text.

    Attributes:
        prompt_tokens: tokens of the prompt.
        forced_tokens: generated tokens for which the grammar left no choice.
    """

    prompt_tokens: int
    forced_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[T]):
    """One generated text and its value.

    Attributes:
        value: the validated value; ``None`` if the text is not complete or was refused.
        text: the text, up to but without the end token.
        token_ids: the ids that spell the text.
        finish_reason: why generation ended. With ``"length"`` there is a value if the text
            happens to be complete where it was cut (a number that could have gone on).
        trace: counts.
        diagnostics: what the grammar does not enforce, and why a value was refused.
    """

    value: T | None
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    trace: Trace
    diagnostics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next whole characters of a streamed text."""

    text: str


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The last event of a stream."""

    result: Result[T]


Event: TypeAlias = TextDelta | Done[T]
