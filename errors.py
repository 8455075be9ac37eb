"""The one exception tree of the package.

::

    MaskwrightError
    ├── GrammarError              bad input: where it is, what was found, what to write instead
    │   ├── UnsupportedSchemaError   valid, but cannot be enforced exactly
    │   └── UnsatisfiableError       nothing at all can match
    ├── LimitError                a named limit was exceeded (never a hang)
    ├── VocabularyError           a tokenizer or vocabulary that cannot be used
    ├── TokenRejectedError        a token that the grammar does not allow here
    ├── BitmaskError              a bitmask or logits array of the wrong shape, dtype or row
    └── GenerationError           generation ended without a complete value

Every exception carries its facts as attributes, so that callers need not parse messages.
"""

from __future__ import annotations

__all__ = [
    "BitmaskError",
    "GenerationError",
    "GrammarError",
    "LimitError",
    "MaskwrightError",
    "TokenRejectedError",
    "UnsatisfiableError",
    "UnsupportedSchemaError",
    "VocabularyError",
]


class MaskwrightError(Exception):
    """Root of every error that this package raises on purpose."""


class GrammarError(MaskwrightError, ValueError):
    """The grammar, schema, pattern or type given by the user is not valid.

    Args:
        message: what is wrong and what to write instead.
        pointer: JSON Pointer into the schema (``"#/properties/a"``), if the input is a schema.
        line, column: 1-based position in the text, if the input is a text.
        excerpt: that line with a mark below the place, shown after the message.
    """

    def __init__(
        self,
        message: str,
        *,
        pointer: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        where = ""
        if pointer is not None:
            where = f" (at {pointer})"
        elif line is not None:
            where = f" (line {line}, column {column})"
        if excerpt is not None:
            where += f"\n{excerpt}"
        super().__init__(message + where)
        self.message = message
        self.pointer = pointer
        self.line = line
        self.column = column
        self.excerpt = excerpt


class UnsupportedSchemaError(GrammarError):
    """The schema is valid but uses something that cannot be enforced exactly.

    Args:
        message: what is not supported and the ways out.
        keyword: the JSON Schema keyword responsible.
        pointer: JSON Pointer of the subschema that holds the keyword.
    """

    def __init__(self, message: str, *, keyword: str, pointer: str) -> None:
        super().__init__(message, pointer=pointer)
        self.keyword = keyword


class UnsatisfiableError(GrammarError):
    """No text at all matches: the constraints contradict each other."""


class LimitError(MaskwrightError):
    """A step that can explode reached its named limit.

    Args:
        stage: the step, e.g. ``"regex determinization"``.
        limit: the field of :class:`maskwright.Limits` that stopped it.
        allowed: the value of that limit.
        actual: the value reached (a lower bound of what would be needed).
        culprit: the pattern, rule or JSON Pointer responsible.
    """

    def __init__(
        self, *, stage: str, limit: str, allowed: int, actual: int, culprit: str = ""
    ) -> None:
        who = f" for {culprit}" if culprit else ""
        super().__init__(
            f"{stage}{who} needs more than {allowed} ({limit}; reached {actual}); "
            f"simplify the input or raise Limits.{limit}"
        )
        self.stage = stage
        self.limit = limit
        self.allowed = allowed
        self.actual = actual
        self.culprit = culprit


class VocabularyError(MaskwrightError, ValueError):
    """A tokenizer whose tokens cannot be turned into bytes, or that cannot spell a grammar."""


class TokenRejectedError(MaskwrightError, ValueError):
    """A token was forced on a matcher that does not allow it at this point.

    Args:
        token_id: the rejected id.
        position: number of tokens accepted before it.
    """

    def __init__(self, message: str, *, token_id: int, position: int) -> None:
        super().__init__(message)
        self.token_id = token_id
        self.position = position


class BitmaskError(MaskwrightError, ValueError):
    """A bitmask or logits array has the wrong shape, dtype, device or row."""


class GenerationError(MaskwrightError, RuntimeError):
    """Generation ended before the value was complete.

    Args:
        text: what was generated so far.
        finish_reason: ``"length"``, ``"error"``, …
    """

    def __init__(self, message: str, *, text: str, finish_reason: str) -> None:
        super().__init__(message)
        self.text = text
        self.finish_reason = finish_reason
