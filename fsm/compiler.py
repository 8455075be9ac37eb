"""The compiler: everything that grammars over one vocabulary share.

Lexemes, tries, shared mask rows and scratch buffers belong to the compiler; each grammar
compiled adds only its own network, configurations and masks, which live as long as its FSM.
One lock guards all of it. Kernels release the GIL while they hold that lock, so other Python
threads (a server's event loop, the thread that feeds the GPU) go on meanwhile.

Requests repeat schemas. What was compiled is found again by its text and options as long as
somebody uses it, and with ``keep`` for the next request too: masks are then warm from the start.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from threading import RLock
from typing import Any, Literal
from weakref import WeakValueDictionary

from ..errors import GrammarError, UnsatisfiableError
from ..grammar import ir
from ..grammar.automata.dfa import CharDFA
from ..grammar.gbnf import gbnf_grammar
from ..grammar.json_schema import JsonOptions, JsonSchemaGrammar, check_schema
from ..grammar.lark import LarkLexer, lark_grammar
from ..grammar.regex import fullmatch_language
from ..grammar.report import Finding, Report
from ..grammar.static import StaticGrammar
from ..limits import DEFAULT_LIMITS, Limits
from .grammar_tables import TablePool
from .lexemes import LexemeStore
from .tables import VocabularyTables
from .token_fsm import TokenFSM
from .vocabulary import Vocabulary

__all__ = ["Compiler"]


class Compiler:
    """Compiles grammars for one vocabulary. Thread-safe; make one per model and keep it.

    Args:
        vocabulary: the model's tokens.
        limits: bounds on everything that can explode.
        keep: how many of the schemas last asked for are kept for the next request, with their
            masks, though nobody uses them meanwhile. None by default: servers have caches of
            their own, and letting go of an old grammar would delay a new one.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, limits: Limits = DEFAULT_LIMITS, keep: int = 0
    ) -> None:
        self.vocabulary = vocabulary
        self.limits = limits
        self._lock = RLock()
        self._store = LexemeStore(limits)
        self._tables = VocabularyTables(vocabulary, self._store)
        self._pool = TablePool(self._tables.words)
        self._automata: dict[Hashable, Any] = {}
        self._known: WeakValueDictionary[Hashable, TokenFSM] = WeakValueDictionary()
        self._kept: deque[TokenFSM] = deque(maxlen=keep)

    def grammar(self, grammar: ir.Grammar) -> TokenFSM:
        """Compile a grammar that is already in the IR."""
        with self._lock:
            return TokenFSM(grammar, self._store, self._tables, self._pool, self.limits, self._lock)

    def json_schema(
        self,
        schema: Mapping[str, Any] | bool | str,
        *,
        options: JsonOptions | None = None,
        registry: Any = None,
    ) -> TokenFSM:
        """JSON texts that are valid against a JSON Schema.

        The same schema with the same options gives the same FSM again, unless there is a
        registry.

        Args:
            schema: the schema as Python objects, or as JSON text.
            options: whitespace, property order, digit bounds, …
            registry: a ``referencing.Registry`` with other documents that the schema refers
                to. Nothing is ever fetched over the network.

        Raises:
            GrammarError: not a valid schema.
            UnsupportedSchemaError: valid, but cannot be enforced exactly.
            UnsatisfiableError: no JSON text is valid.
        """
        value, text = _read_schema(schema)
        if registry is not None:  # what it holds is no part of the text
            text = None
        key = ("json schema", text, options)
        with self._lock:
            fsm = None if text is None else self._known.get(key)
            if fsm is None:
                fsm = self.grammar(
                    JsonSchemaGrammar(
                        value,
                        options=options,
                        registry=registry,
                        limits=self.limits,
                        cache=self._automata,
                    )
                )
                if text is not None:
                    self._known[key] = fsm
            if self._kept.maxlen:
                if fsm in self._kept:
                    self._kept.remove(fsm)
                self._kept.append(fsm)
            return fsm

    def check(
        self,
        schema: Any,
        *,
        options: JsonOptions | None = None,
        registry: Any = None,
    ) -> Report:
        """What of a schema is enforced, and what is wrong with it, without serving it.

        Args:
            schema: a JSON Schema as in :meth:`json_schema`, or a type as in :meth:`type`.
            options, registry: as in :meth:`json_schema`.

        Returns:
            A report that lists every finding with its pointer, and is ok exactly if the schema
            compiles with the same arguments.

        Raises:
            GrammarError: the schema is no JSON text, or the type has no JSON form.
        """
        from ..grammar.python_types import schema_of_type

        deferred: tuple[str, ...] = ()
        if isinstance(schema, str | Mapping | bool):
            value, _ = _read_schema(schema)
        else:
            typed = schema_of_type(schema)
            value, deferred = typed.json_schema, typed.validators
        report = check_schema(value, options=options, registry=registry, limits=self.limits)
        notes = tuple(
            Finding("deferred", "info", name, None, "only checked when the text is complete")
            for name in deferred
        )
        return Report((*report.findings, *notes), report.size)

    def type(self, type_: Any, *, options: JsonOptions | None = None) -> TokenFSM:
        """JSON texts that pydantic validates as a Python type.

        Raises:
            GrammarError: the type has no JSON form.
        """
        from ..grammar.python_types import schema_of_type

        return self.json_schema(schema_of_type(type_).json_schema, options=options)

    def regex(self, pattern: str, *, dialect: Literal["python", "ecma"] = "python") -> TokenFSM:
        """Texts that match a regular expression as a whole (``re.fullmatch``).

        Raises:
            GrammarError: the pattern is not valid or not regular.
            UnsatisfiableError: it matches nothing.
        """
        with self._lock:
            key = ("regex", dialect, pattern)
            language = self._automata.get(key)
            if language is None:
                language = self._automata[key] = CharDFA.from_regular(
                    fullmatch_language(pattern, dialect=dialect),
                    limits=self.limits,
                    culprit=pattern,
                )
            if language.is_empty:
                raise UnsatisfiableError(f"the pattern {pattern!r} matches no text")
            return self.grammar(StaticGrammar({"start": ir.TextLexeme(language)}, "start"))

    def choices(self, choices: Sequence[str]) -> TokenFSM:
        """Exactly one of some texts.

        Raises:
            GrammarError: not a list of strings.
            UnsatisfiableError: the list is empty.
        """
        if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
            raise GrammarError("choices is a list of strings, e.g. choices=['yes', 'no']")
        if not choices:
            raise UnsatisfiableError("choices is empty, so no text matches")
        language = CharDFA.from_strings(choices)
        return self.grammar(StaticGrammar({"start": ir.TextLexeme(language)}, "start"))

    def gbnf(self, text: str, root: str = "root") -> TokenFSM:
        """Texts of a grammar in GBNF, the notation of llama.cpp.

        Args:
            text: the rules; :mod:`maskwright.grammar.gbnf` describes the notation.
            root: the rule to start with.

        Raises:
            GrammarError: the text is no grammar; with line and column.
            UnsatisfiableError: no text matches.
        """
        return self.grammar(gbnf_grammar(text, root, limits=self.limits))

    def lark(
        self,
        text: str,
        start: str = "start",
        *,
        lexer: LarkLexer = "dynamic",
        import_paths: Sequence[Any] = (),
        source_path: str | None = None,
    ) -> TokenFSM:
        """Texts that Lark parses with a grammar in its language.

        Args:
            text: the grammar.
            start: the rule to start with.
            lexer: how Lark finds the terminals of a text, see :mod:`maskwright.grammar.lark`.
            import_paths: where ``%import`` looks for grammars, as Lark's option.
            source_path: the grammar's own path, for its relative imports.

        Raises:
            GrammarError: Lark does not take the grammar, with line and column where it says so;
                or a terminal cannot be enforced, e.g. because of a backreference.
            UnsatisfiableError: no text matches.
        """
        return self.grammar(
            lark_grammar(
                text,
                start,
                lexer=lexer,
                import_paths=import_paths,
                source_path=source_path,
                limits=self.limits,
            )
        )

    @property
    def nbytes(self) -> int:
        """Bytes of what all grammars share."""
        return self._tables.nbytes + self._store.arena.nbytes + self._pool.nbytes


def _read_schema(schema: Mapping[str, Any] | bool | str) -> tuple[Any, str | None]:
    """A copy of the schema as Python objects, and its JSON text if it has one.

    Changing the caller's objects later changes nothing.
    """
    if isinstance(schema, str):
        try:
            return json.loads(schema), schema
        except json.JSONDecodeError as error:
            raise GrammarError(
                f"the schema is not JSON text: {error.msg}", line=error.lineno, column=error.colno
            ) from error
    value = dict(schema) if isinstance(schema, Mapping) else schema
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        # Not JSON, at some place: the reader of schemas says where.
        return value, None
    return json.loads(text), text
