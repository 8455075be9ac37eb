"""Text from language models that is guaranteed to match a schema, type, grammar or regex.

The public names are loaded when first used: importing the package imports neither torch nor
transformers, nor does it compile anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    BitmaskError,
    GenerationError,
    GrammarError,
    LimitError,
    MaskwrightError,
    TokenRejectedError,
    UnsatisfiableError,
    UnsupportedSchemaError,
    VocabularyError,
)
from .limits import Limits

if TYPE_CHECKING:
    from .decoding.bitmask import allocate_bitmask, apply_bitmask
    from .decoding.generate import complete, generate, stream
    from .decoding.result import Done, Result, TextDelta
    from .decoding.sampling import SamplingParams
    from .fsm.compiler import Compiler
    from .fsm.matcher import Matcher, fill_bitmasks
    from .fsm.token_fsm import TokenFSM
    from .fsm.vocabulary import Vocabulary
    from .grammar.json_schema import JsonOptions

__all__ = [
    "BitmaskError",
    "Compiler",
    "Done",
    "GenerationError",
    "GrammarError",
    "JsonOptions",
    "LimitError",
    "Limits",
    "MaskwrightError",
    "Matcher",
    "Result",
    "SamplingParams",
    "TextDelta",
    "TokenFSM",
    "TokenRejectedError",
    "UnsatisfiableError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "allocate_bitmask",
    "apply_bitmask",
    "complete",
    "fill_bitmasks",
    "generate",
    "stream",
]

__version__ = "0.1.0"

_HOME = {
    "Compiler": ".fsm.compiler",
    "Done": ".decoding.result",
    "JsonOptions": ".grammar.json_schema",
    "Matcher": ".fsm.matcher",
    "Result": ".decoding.result",
    "SamplingParams": ".decoding.sampling",
    "TextDelta": ".decoding.result",
    "TokenFSM": ".fsm.token_fsm",
    "Vocabulary": ".fsm.vocabulary",
    "allocate_bitmask": ".decoding.bitmask",
    "apply_bitmask": ".decoding.bitmask",
    "complete": ".decoding.generate",
    "fill_bitmasks": ".fsm.matcher",
    "generate": ".decoding.generate",
    "stream": ".decoding.generate",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
