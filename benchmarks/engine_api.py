"""What every ``engine_NAME.py`` offers: the same three names, so that one runner drives all.

``build(tokenizer) -> Engine`` once per process, ``engine.compile(schema) -> Grammar`` once per
schema, ``grammar.start() -> Session`` once per text. A session's ``mask`` and ``commit`` are
attributes, not methods, so that an engine can put its own bound function there: then nothing of
the benchmark is inside the timed calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizer_file import TokenizerFile

__all__ = ["ENGINES", "Engine", "Grammar", "Session", "build_engine", "new_bitmask", "versions"]

# Engine name -> the packages whose versions identify it.
ENGINES = {
    "maskwright": ("maskwright", "numba", "numpy"),
    "maskwright_any_order": ("maskwright", "numba", "numpy"),
    "llguidance": ("llguidance",),
    "xgrammar": ("xgrammar",),
    "outlines_core": ("outlines_core",),
}


@dataclass(slots=True)
class Session:
    """The state of one text.

    Attributes:
        mask: computes the mask of the next token into the engine's ``bits``.
        commit: advances by one token that the mask allowed.
    """

    mask: Callable[[], object]
    commit: Callable[[int], object]


class Grammar(Protocol):
    """A compiled schema."""

    def start(self) -> Session:
        """A session at the start of a text."""


class Engine(Protocol):
    """One mask engine with one vocabulary.

    Attributes:
        bits: int32[1, ceil(size/32)], written by ``Session.mask``; bit t%32 of word t//32 is
            token t.
        wants_text: the engine's own interface takes a schema as JSON text (else as a value), so
            the conversion is not charged to it.
    """

    bits: NDArray[np.int32]
    wants_text: bool

    def compile(self, schema: Any) -> Grammar:
        """Compile a JSON Schema; raises whatever the engine raises."""


def new_bitmask(size: int) -> NDArray[np.int32]:
    """A bitmask for one sequence."""
    return np.zeros((1, (size + 31) // 32), dtype=np.int32)


def build_engine(name: str, tokenizer: TokenizerFile) -> Engine:
    """Build the engine of ``engine_NAME.py``."""
    engine: Engine = import_module(f"engine_{name}").build(tokenizer)
    return engine


def versions(name: str) -> str:
    """The versions of the packages that make up an engine."""
    found = []
    for package in ENGINES[name]:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} (not installed as a distribution)")
    return ", ".join(found)
