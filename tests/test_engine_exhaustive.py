"""Every short text of many small grammars, in every tokenization, against the oracle."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from maskwright.fsm.compiler import Compiler
from maskwright.fsm.token_fsm import DEAD, TokenFSM
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.grammar import ir
from maskwright.grammar.automata.dfa import CharDFA
from maskwright.grammar.json_schema import JsonOptions, JsonSchemaGrammar
from maskwright.grammar.regex import fullmatch_language
from maskwright.grammar.static import StaticGrammar


def _neighbour(name: str) -> ModuleType:
    """Another module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Prefixes = _neighbour("reference_matcher").Prefixes
