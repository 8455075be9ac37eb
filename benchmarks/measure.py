"""One schema on one engine: verdicts and times.

For every test instance the text ``json.dumps(data, ensure_ascii=False)`` is tokenized as the
model's tokenizer does it and fed token by token: compute the mask, look up the token's bit,
commit it. A valid instance must be allowed to its end with the end token allowed there; an
invalid one must be stopped somewhere.

Two clocks run: compile + first mask once a schema, and mask + commit once a token (the look-up
between the two is not in it). The garbage collector is off meanwhile. The mask after the last
token decides about the end token and is not timed, since no commit follows it.
"""

from __future__ import annotations

import gc
import json
import resource
from array import array
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Literal

from engine_api import Engine, Grammar, Session
from tokenizer_file import TokenizerFile

__all__ = ["SchemaResult", "TestResult", "measure_schema"]

Outcome = Literal["ok", "compile_error", "run_error", "timeout", "crash"]


@dataclass
class TestResult:
    """One instance: was it to be accepted, was it, and ns of mask + commit per token."""

    valid: bool
    accepted: bool
    ns: array[int]


@dataclass
class SchemaResult:
    """One schema on one engine.

    Attributes:
        outcome: ``"ok"`` when every test ran to its verdict, else what stopped it.
        error: the exception's type and text, if one stopped it.
        compile_ns: time of a successful compile, else 0.
        first_mask_ns: compile + first mask, else 0.
        tests: the tests that ran to a verdict.
        preemptions: times that the kernel took the processor away while measuring: each can put
            milliseconds on a token, so a run with many needs a quieter machine.
    """

    schema_id: str
    outcome: Outcome = "ok"
    error: str = ""
    compile_ns: int = 0
    first_mask_ns: int = 0
    tests: list[TestResult] = field(default_factory=list)
    preemptions: int = 0

    @property
    def too_strict(self) -> bool:
        """A valid instance was refused."""
        return any(test.valid and not test.accepted for test in self.tests)

    @property
    def too_loose(self) -> bool:
        """An invalid instance was let through."""
        return any(test.accepted and not test.valid for test in self.tests)

    @property
    def passed(self) -> bool:
        """Compiled, ran and decided every test rightly."""
        return self.outcome == "ok" and not self.too_strict and not self.too_loose

    @property
    def verdict(self) -> str:
        """One word for tables and comparisons; too loose is the worst and named first."""
        if self.too_loose:
            return "too_loose"
        if self.outcome != "ok":
            return self.outcome
        return "too_strict" if self.too_strict else "pass"


def _run_test(session: Session, engine: Engine, tokens: list[int], eos_id: int) -> tuple[bool, Any]:
    words = memoryview(engine.bits[0])  # plain ints, and no array indexing cost
    mask = session.mask
    commit = session.commit
    now = perf_counter_ns
    ns = array("q")
    for token in tokens:
        start = now()
        mask()
        middle = now()
        allowed = words[token >> 5] >> (token & 31) & 1
        if not allowed:
            ns.append(middle - start)
            return False, ns
        resumed = now()
        commit(token)
        ns.append(now() - resumed + middle - start)
    mask()
    return bool(words[eos_id >> 5] >> (eos_id & 31) & 1), ns


def measure_schema(
    engine: Engine, tokenizer: TokenizerFile, record: dict[str, Any]
) -> SchemaResult:
    """Compile the record's schema and run its tests; exceptions end up in the result."""
    result = SchemaResult(record["id"])
    encoded = [
        (test["valid"], tokenizer.encode(json.dumps(test["data"], ensure_ascii=False)))
        for test in record["tests"]
    ]
    schema = json.dumps(record["schema"]) if engine.wants_text else record["schema"]
    gc.collect()
    gc.disable()
    preempted = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    try:
        grammar = _compile(engine, schema, result)
        if grammar is not None:
            _run_tests(engine, tokenizer, grammar, encoded, result)
    finally:
        gc.enable()
    result.preemptions = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - preempted
    return result


def _compile(engine: Engine, schema: Any, result: SchemaResult) -> Grammar | None:
    start = perf_counter_ns()
    try:
        grammar = engine.compile(schema)
        compiled = perf_counter_ns()
        grammar.start().mask()
        masked = perf_counter_ns()
    except Exception as error:
        result.outcome = "compile_error"
        result.error = f"{type(error).__name__}: {error}"
        return None
    result.compile_ns = compiled - start
    result.first_mask_ns = masked - start
    return grammar


def _run_tests(
    engine: Engine,
    tokenizer: TokenizerFile,
    grammar: Grammar,
    encoded: list[tuple[bool, list[int]]],
    result: SchemaResult,
) -> None:
    for index, (valid, tokens) in enumerate(encoded):
        try:
            accepted, ns = _run_test(grammar.start(), engine, tokens, tokenizer.eos_id)
        except Exception as error:
            result.outcome = "run_error"
            result.error = f"test {index}: {type(error).__name__}: {error}"
            return
        result.tests.append(TestResult(valid, accepted, ns))
