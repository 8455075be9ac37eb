"""``generate``, ``complete``, ``stream``: from a model, a prompt and a constraint to a value."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack, overload

from ..errors import GenerationError
from .compilers import compiler_for
from .constraints import Constraint, constraint_of
from .loop import Row, decode
from .matching import Grammar, GrammarCompiler
from .model import CausalModel, end_ids, logits_width
from .prompts import Chat, Prompt, Prompts, encode_prompts, is_batch
from .result import Done, Event, FinishReason, Result, TextDelta, Trace
from .sampling import SamplingParams, row_generators

__all__ = ["DEFAULT_MAX_TOKENS", "Settings", "complete", "generate", "stream"]

T = TypeVar("T")

DEFAULT_MAX_TOKENS = 512


class Settings(TypedDict, total=False):
    """Keyword arguments that :func:`generate`, :func:`complete` and :func:`stream` share.

    Attributes:
        regex, choices, tools, lark, gbnf: other constraints than a schema; exactly one
            constraint must be given.
        tokenizer: the model's transformers tokenizer; by default loaded from where the model
            came from.
        max_tokens: tokens of text each prompt may get; the end token is not counted.
        temperature: 0 (the default) is greedy, see :class:`.sampling.SamplingParams`.
        top_k, top_p, min_p: filters, applied in this order.
        seed: the same for each prompt, whatever batch it is in.
        options: ``JsonOptions`` of a schema.
        registry: a ``referencing.Registry`` of documents that the schema refers to.
        compiler: a ``Compiler`` for the tokenizer's vocabulary; by default one is kept for
            each tokenizer used lately.
    """

    regex: str | None
    choices: Iterable[str] | None
    tools: Sequence[Any] | None
    lark: str | None
    gbnf: str | None
    tokenizer: Any
    max_tokens: int
    temperature: float
    top_k: int | None
    top_p: float
    min_p: float
    seed: int | None
    options: Any
    registry: Any
    compiler: Any


@dataclass(frozen=True, slots=True)
class _Job:
    """A call with everything checked, compiled and encoded."""

    model: CausalModel
    constraint: Constraint
    grammar: Grammar
    prompts: list[list[int]]
    rows: list[Row]
    params: SamplingParams
    max_tokens: int

    def run(self) -> Iterator[None]:
        return decode(
            self.model,
            self.prompts,
            self.rows,
            vocabulary=self.grammar.vocabulary,
            params=self.params,
            max_tokens=self.max_tokens,
        )

    def result(self, index: int) -> Result[Any]:
        row = self.rows[index]
        text = self.grammar.vocabulary.join(row.tokens).decode("utf-8", "replace")
        reason: FinishReason = row.finish_reason or "length"
        source = getattr(self.grammar, "grammar", None)
        notes = [*self.constraint.notes, *getattr(source, "diagnostics", ())]
        value: Any = None
        if reason == "stop" or row.matcher.is_accepting():
            try:
                value = self.constraint.value(text)
            except ValueError as error:
                reason = "error"
                notes.append(str(error))
        return Result(
            value=value,
            text=text,
            token_ids=tuple(row.tokens),
            finish_reason=reason,
            trace=Trace(prompt_tokens=len(self.prompts[index]), forced_tokens=row.forced),
            diagnostics=tuple(notes),
        )

    def is_complete(self, index: int) -> bool:
        row = self.rows[index]
        return row.finish_reason == "stop" or row.matcher.is_accepting()


def _prepare(
    model: Any,
    prompts: Sequence[str | Chat],
    schema: Any,
    *,
    tokenizer: Any = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
    seed: int | None = None,
    compiler: GrammarCompiler | None = None,
    **constraint: Any,
) -> _Job:
    """Check everything that can be wrong before the model is touched."""
    params = SamplingParams(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed
    )
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be 1 or more, not {max_tokens!r}")
    chosen = constraint_of(schema=schema, **constraint)
    causal = CausalModel(model)
    if tokenizer is None:
        tokenizer = _tokenizer_of(model)
    if compiler is None:
        compiler = compiler_for(tokenizer, size=logits_width(model), end_ids=end_ids(model))
    grammar = chosen.compile(compiler)
    sources = row_generators(params, len(prompts))
    return _Job(
        model=causal,
        constraint=chosen,
        grammar=grammar,
        prompts=encode_prompts(tokenizer, prompts),
        rows=[Row(grammar.matcher(), source) for source in sources],
        params=params,
        max_tokens=max_tokens,
    )


def _tokenizer_of(model: Any) -> Any:
    """The tokenizer saved next to a model: models do not carry theirs."""
    from transformers import AutoTokenizer

    name = getattr(model.config, "_name_or_path", "")
    try:
        if not name:
            raise OSError("the model's config does not say where it came from")
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot find the model's tokenizer, pass tokenizer=: {error}") from error


def _run(model: Any, prompts: Sequence[str | Chat], schema: Any, settings: Settings) -> _Job:
    job = _prepare(model, prompts, schema, **settings)
    for _ in job.run():
        pass
    return job


@overload
def complete(
    model: Any, prompt: Prompt, schema: type[T], **settings: Unpack[Settings]
) -> Result[T]: ...
@overload
def complete(
    model: Any, prompt: Prompts, schema: type[T], **settings: Unpack[Settings]
) -> list[Result[T]]: ...
@overload
def complete(
    model: Any, prompt: Prompt, schema: None = None, **settings: Unpack[Settings]
) -> Result[str]: ...
@overload
def complete(
    model: Any, prompt: Prompts, schema: None = None, **settings: Unpack[Settings]
) -> list[Result[str]]: ...
@overload
def complete(
    model: Any, prompt: Prompt, schema: Any, **settings: Unpack[Settings]
) -> Result[Any]: ...
@overload
def complete(
    model: Any, prompt: Prompts, schema: Any, **settings: Unpack[Settings]
) -> list[Result[Any]]: ...
def complete(model: Any, prompt: Any, schema: Any = None, **settings: Unpack[Settings]) -> Any:
    """Generate, and return everything known about it; an incomplete text is no error here.

    Same arguments as :func:`generate`.

    Returns:
        A :class:`Result`, or a list of them for a list of prompts. ``value`` is ``None``
        where ``max_tokens`` ran out or a validator function refused the value.
    """
    batch = is_batch(prompt)
    prompts = list(prompt) if batch else [prompt]
    if not prompts:
        return []
    job = _run(model, prompts, schema, settings)
    results = [job.result(i) for i in range(len(prompts))]
    return results if batch else results[0]


@overload
def generate(model: Any, prompt: Prompt, schema: type[T], **settings: Unpack[Settings]) -> T: ...
@overload
def generate(
    model: Any, prompt: Prompts, schema: type[T], **settings: Unpack[Settings]
) -> list[T]: ...
@overload
def generate(
    model: Any, prompt: Prompt, schema: None = None, **settings: Unpack[Settings]
) -> str: ...
@overload
def generate(
    model: Any, prompt: Prompts, schema: None = None, **settings: Unpack[Settings]
) -> list[str]: ...
@overload
def generate(model: Any, prompt: Prompt, schema: Any, **settings: Unpack[Settings]) -> Any: ...
@overload
def generate(
    model: Any, prompt: Prompts, schema: Any, **settings: Unpack[Settings]
) -> list[Any]: ...
def generate(model: Any, prompt: Any, schema: Any = None, **settings: Unpack[Settings]) -> Any:
    """Generate a value that is guaranteed to match.

    Args:
        model: a transformers causal language model.
        prompt: a text, which the model continues as it stands; or a conversation, a list of
            ``{"role": …, "content": …}``, which goes through the tokenizer's chat template; or
            a list of either.
        schema: a Pydantic model or any type that ``TypeAdapter`` takes; or a JSON Schema, as a
            dict or as JSON text.
        settings: see :class:`Settings`.

    Returns:
        A validated instance of the type; for a JSON Schema what ``json.loads`` gives; the text
        itself for a regex, choices or a grammar. A list for a list of prompts.

    Raises:
        GrammarError: the constraint is bad, unsupported or unsatisfiable.
        GenerationError: ``max_tokens`` ran out before the text was complete, or a validator
            function of the type refused the value. It has the text.
        TypeError, ValueError: no or several constraints; a parameter out of range.
    """
    batch = is_batch(prompt)
    prompts = list(prompt) if batch else [prompt]
    if not prompts:
        return []
    job = _run(model, prompts, schema, settings)
    results = [job.result(i) for i in range(len(prompts))]
    for i, result in enumerate(results):
        where = f" for prompt {i}" if batch else ""
        if result.finish_reason == "error":
            raise GenerationError(
                f"the generated text{where} was refused: {result.diagnostics[-1]}",
                text=result.text,
                finish_reason="error",
            )
        if not job.is_complete(i):
            raise GenerationError(
                f"max_tokens={job.max_tokens} ran out before the text{where} was complete; "
                f"allow more, or bound the lengths in the schema. It ends with "
                f"{result.text[-60:]!r}",
                text=result.text,
                finish_reason="length",
            )
    return [result.value for result in results] if batch else results[0].value


@overload
def stream(
    model: Any, prompt: Prompt, schema: type[T], **settings: Unpack[Settings]
) -> Iterator[Event[T]]: ...
@overload
def stream(
    model: Any, prompt: Prompt, schema: None = None, **settings: Unpack[Settings]
) -> Iterator[Event[str]]: ...
@overload
def stream(
    model: Any, prompt: Prompt, schema: Any, **settings: Unpack[Settings]
) -> Iterator[Event[Any]]: ...
def stream(
    model: Any, prompt: Any, schema: Any = None, **settings: Unpack[Settings]
) -> Iterator[Event[Any]]:
    """Generate for one prompt, yielding the text as it grows.

    Same arguments as :func:`generate`, checked before this returns.

    Yields:
        :class:`TextDelta` with the next whole characters, then one :class:`Done`. Their texts
        join to the result's text, unless it was cut inside a character.
    """
    if is_batch(prompt):
        raise TypeError("stream takes one prompt; call it once for each")
    return _events(_prepare(model, [prompt], schema, **settings))


def _events(job: _Job) -> Iterator[Event[Any]]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    (row,) = job.rows
    seen = 0
    for _ in job.run():
        text = decoder.decode(job.grammar.vocabulary.join(row.tokens[seen:]))
        seen = len(row.tokens)
        if text:
            yield TextDelta(text)
    yield Done(job.result(0))
