"""The generation loop on scripted models, and ``generate`` end to end on a tiny random one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pydantic
import pytest
import torch
from pydantic import BaseModel, Field
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import maskwright as mw
from maskwright.decoding.compilers import CompilerCache
from maskwright.decoding.constraints import constraint_of
from maskwright.decoding.generate import stream
from maskwright.decoding.loop import Row, decode
from maskwright.decoding.model import CausalModel
from maskwright.decoding.prompts import is_batch
from maskwright.decoding.result import Done, TextDelta
from maskwright.decoding.sampling import SamplingParams

GREEDY = SamplingParams(temperature=0)

# ---------------------------------------------------------------------- scripted parts

END = 5


class Letters:
    """Tokens 0-4 are the letters a-e, token 5 is the end."""

    size = 6
    eos_ids = (END,)

    def join(self, tokens: Iterable[int]) -> bytes:
        return bytes(97 + token for token in tokens)


class WordMatcher:
    """Matches exactly the given words: an obvious stand-in for a compiled grammar."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.text = ""
        self.is_done = False

    def allowed(self) -> set[int]:
        if self.is_done:
            return set()
        longer = [w for w in self.words if w.startswith(self.text) and w != self.text]
        tokens = {ord(w[len(self.text)]) - 97 for w in longer}
        return tokens | {END} if self.is_accepting() else tokens

    def is_accepting(self) -> bool:
        return self.text in self.words

    def fill_bitmask(self, bits: Any, row: int = 0) -> None:
        bits[row] = sum(1 << token for token in self.allowed())

    def accept(self, token: int) -> bool:
        if token not in self.allowed():
            return False
        if token == END:
            self.is_done = True
        else:
            self.text += chr(97 + token)
        return True


class ScriptedModel:
    """Prefers the given tokens in turn; records what it was fed."""

    def __init__(self, *scripts: str) -> None:
        self.scripts = scripts
        self.fed: list[list[int]] = []

    def _logits(self) -> torch.Tensor:
        logits = torch.zeros(len(self.scripts), 8)  # wider than the vocabulary
        logits[:, 6:] = 9.0
        for row, script in enumerate(self.scripts):
            if len(self.fed) < len(script):
                wanted = END if script[len(self.fed)] == "." else ord(script[len(self.fed)]) - 97
                logits[row, wanted] = 5.0
        return logits

    def prefill(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        return self._logits()

    def step(self, tokens: Sequence[int]) -> torch.Tensor:
        self.fed.append(list(tokens))
        return self._logits()


def run(model: ScriptedModel, *matchers: Any, max_tokens: int = 9) -> list[Row]:
    rows = [Row(matcher, random.Random(0)) for matcher in matchers]
    steps = decode(
        model,
        [[0]] * len(rows),
        rows,
        vocabulary=Letters(),
        params=GREEDY,
        max_tokens=max_tokens,
    )
    for _ in steps:
        pass
    return rows


def texts(rows: list[Row]) -> list[str]:
    return [Letters().join(row.tokens).decode() for row in rows]


def test_the_model_chooses_among_what_the_grammar_allows() -> None:
    (row,) = run(ScriptedModel("eb."), WordMatcher("ab", "abe", "cd"))
    assert (texts([row]), row.finish_reason) == (["ab"], "stop")


def test_rows_finish_one_by_one() -> None:
    model = ScriptedModel("a.", "abcd")
    rows = run(model, WordMatcher("a", "ab"), WordMatcher("abcde"))
    assert texts(rows) == ["a", "abcde"]
    assert [row.finish_reason for row in rows] == ["stop", "stop"]
    assert [fed[1] for fed in model.fed] == [0, 1, 2, 3]


def test_a_text_that_can_only_end_needs_no_further_pass() -> None:
    model = ScriptedModel("ab")
    (row,) = run(model, WordMatcher("ab"))
    assert (texts([row]), row.finish_reason, row.forced) == (["ab"], "stop", 2)
    assert model.fed == [[0]]


def test_the_budget_counts_text_only() -> None:
    (row,) = run(ScriptedModel("ab"), WordMatcher("ab"), max_tokens=2)
    assert row.finish_reason == "stop"
    (row,) = run(ScriptedModel("ab"), WordMatcher("abc"), max_tokens=2)
    assert (texts([row]), row.finish_reason) == (["ab"], "length")


def test_a_matcher_that_contradicts_its_mask_is_an_error() -> None:
    class Broken(WordMatcher):
        def accept(self, token: int) -> bool:
            return False

    with pytest.raises(mw.TokenRejectedError, match="token 0") as caught:
        run(ScriptedModel("a"), Broken("a"))
    assert (caught.value.token_id, caught.value.position) == (0, 0)


# ---------------------------------------------------------------------- arguments


def test_exactly_one_constraint_must_be_given() -> None:
    with pytest.raises(TypeError, match="not none"):
        constraint_of()
    with pytest.raises(TypeError, match="not schema and regex"):
        constraint_of(schema=int, regex="a")
    with pytest.raises(TypeError, match="options"):
        constraint_of(regex="a", options=object())


def test_a_front_end_that_is_missing_says_so() -> None:
    with pytest.raises(mw.GrammarError, match="gbnf grammars are not available"):
        constraint_of(gbnf="root ::= 'a'").compile(object())  # type: ignore[arg-type]


def test_a_schema_given_as_text_must_be_json() -> None:
    with pytest.raises(mw.GrammarError, match="line 2, column 3"):
        constraint_of(schema='{"type":\n  oops}')


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"multipleOf": 0.01}, "0.07", 0.07),
        ({"type": "integer"}, "1.0", 1.0),
        ({"const": 0.1}, "0.1", 0.1),
        ('{"type": "array"}', "[1, 2.5]", [1, 2.5]),
        (True, "null", None),
        (dict[int, bool], '{"1": true}', {1: True}),
    ],
)
def test_a_finished_text_is_read_exactly(schema: Any, text: str, value: Any) -> None:
    assert constraint_of(schema=schema).value(text) == value


@pytest.mark.parametrize(
    ("schema", "text", "says"),
    [
        ({"items": {"maximum": 1}}, "[2]", r"\$\[0\]: 2 is greater"),
        ({"multipleOf": 0.01}, "0.075", "multiple"),
        ({"$ref": "https://example.org/x"}, "1", "not at hand"),
        (Literal[1], "2", "Input should be 1"),
    ],
)
def test_a_refused_text_says_why(schema: Any, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        constraint_of(schema=schema).value(text)


MESSAGE = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [("a", False), ([MESSAGE], False), (["a", "b"], True), ([[MESSAGE]], True), ([], True)],
)
def test_prompts_and_batches_are_told_apart(prompt: Any, expected: bool) -> None:
    assert is_batch(prompt) is expected


@pytest.mark.parametrize("prompt", [None, 3, b"a", ["a", [MESSAGE]], [[]], {"role": "user"}])
def test_what_is_no_prompt_is_refused(prompt: Any) -> None:
    with pytest.raises(TypeError, match="prompt must be"):
        is_batch(prompt)


# ---------------------------------------------------------------------- end to end

PIECES = ['{"', '":', '",', ',"', "true", "name", "ab", "12", "👍", "ñ"]
TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant: {% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level, with a few longer pieces made of merges; two end tokens."""
    vocab = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for piece in PIECES:
        chars = byte_level.pre_tokenize_str(piece)[0][0]
        for end in range(2, len(chars) + 1):
            if chars[:end] not in vocab:
                vocab[chars[:end]] = len(vocab)
                merges.append((chars[: end - 1], chars[end - 1]))
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = byte_level
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<s>", "</s>", "<|eot|>"])
    made = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")
    made.chat_template = TEMPLATE
    return made


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + 13,  # padded, as real ones are
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.3,
        eos_token_id=[tokenizer.convert_tokens_to_ids(t) for t in ("</s>", "<|eot|>")],
        bos_token_id=tokenizer.bos_token_id,
    )
    return LlamaForCausalLM(config).eval()


class Person(BaseModel):
    name: str = Field(max_length=5)
    age: int = Field(ge=0, le=130)
    pet: Literal["cat", "dog"] | None = None


@pytest.mark.parametrize("seed", range(4))
def test_a_model_instance_comes_back(model: Any, tokenizer: Any, seed: int) -> None:
    result = mw.complete(
        model, "Who?", schema=Person, tokenizer=tokenizer, temperature=1.0, seed=seed
    )
    assert isinstance(result.value, Person)
    assert Person.model_validate_json(result.text) == result.value
    assert result.finish_reason == "stop"
    assert tokenizer.decode(result.token_ids) == result.text
    assert 0 < result.trace.forced_tokens <= len(result.token_ids)
    assert result.trace.prompt_tokens == len(tokenizer("Who?")["input_ids"])


def test_every_kind_of_constraint_gives_its_kind_of_value(model: Any, tokenizer: Any) -> None:
    def one(**constraint: Any) -> Any:
        return mw.generate(
            model, "x", tokenizer=tokenizer, temperature=1.0, seed=5, max_tokens=300, **constraint
        )

    assert one(choices=["yes", "no"]) in ("yes", "no")
    assert re.fullmatch("[ab]{2,4}", one(regex="[ab]{2,4}"))
    assert all(isinstance(x, bool) for x in one(schema=list[bool]))
    point = one(
        schema={
            "type": "object",
            "properties": {"x": {"enum": [1, 2]}},
            "required": ["x"],
            "additionalProperties": False,
        }
    )
    assert point["x"] in (1, 2)


def test_a_batch_gives_what_each_prompt_gives_alone(model: Any, tokenizer: Any) -> None:
    prompts = ["a", "a much longer prompt than the others: ", "ñ👍"]
    settings: dict[str, Any] = {"schema": Person, "tokenizer": tokenizer, "seed": 2}
    for temperature in (0.0, 0.9):
        batch = mw.complete(model, prompts, temperature=temperature, **settings)
        alone = [mw.complete(model, p, temperature=temperature, **settings) for p in prompts]
        assert [r.text for r in batch] == [r.text for r in alone]


def test_a_seed_repeats_and_seeds_differ(model: Any, tokenizer: Any) -> None:
    def name(seed: int) -> str:
        return mw.generate(
            model, "x", regex="[a-z]{12}", tokenizer=tokenizer, temperature=1.0, seed=seed
        )

    assert name(1) == name(1)
    assert len({name(seed) for seed in range(5)}) > 1


def test_messages_go_through_the_chat_template(model: Any, tokenizer: Any) -> None:
    result = mw.complete(model, [MESSAGE], choices=["a", "b"], tokenizer=tokenizer)
    wrapped = tokenizer("<s>user: hi<s>assistant: ", add_special_tokens=False)["input_ids"]
    assert result.trace.prompt_tokens == len(wrapped)
    several = mw.complete(model, [[MESSAGE], [MESSAGE]], choices=["a", "b"], tokenizer=tokenizer)
    assert [r.text for r in several] == [result.text] * 2


def test_messages_need_a_chat_template(model: Any, tokenizer: Any) -> None:
    plain = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, eos_token="</s>")
    with pytest.raises(ValueError, match="chat template"):
        mw.generate(model, [MESSAGE], choices=["a"], tokenizer=plain)


def test_a_text_cut_short_is_an_error_with_the_text(model: Any, tokenizer: Any) -> None:
    with pytest.raises(mw.GenerationError, match="max_tokens=3 ran out") as caught:
        mw.generate(model, ["x"], schema=Person, tokenizer=tokenizer, max_tokens=3)
    assert caught.value.finish_reason == "length"
    assert caught.value.text.startswith("{")
    cut = mw.complete(model, "x", schema=Person, tokenizer=tokenizer, max_tokens=3)
    assert (cut.value, cut.finish_reason, cut.text) == (None, "length", caught.value.text)


def test_a_text_that_could_go_on_is_complete_where_it_may_stop(model: Any, tokenizer: Any) -> None:
    assert len(mw.generate(model, "x", regex="[a-m]+n*", tokenizer=tokenizer, max_tokens=1)) >= 1


def test_a_value_that_a_validator_refuses_is_an_error(model: Any, tokenizer: Any) -> None:
    class Never(BaseModel):
        n: Literal[1, 2]

        @pydantic.field_validator("n")
        @classmethod
        def refuse(cls, n: int) -> int:
            raise ValueError("not today")

    with pytest.raises(mw.GenerationError, match="not today") as caught:
        mw.generate(model, "x", schema=Never, tokenizer=tokenizer)
    assert caught.value.finish_reason == "error"
    assert json.loads(caught.value.text)["n"] in (1, 2)
    result = mw.complete(model, "x", schema=Never, tokenizer=tokenizer)
    assert (result.value, result.finish_reason) == (None, "error")
    assert any("refuse" in note for note in result.diagnostics)


def test_a_stream_joins_to_the_text(model: Any, tokenizer: Any) -> None:
    events = list(
        stream(model, "x", regex="(👍|ñ|[ab]){8}", tokenizer=tokenizer, temperature=1.0, seed=3)
    )
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert isinstance(events[-1], Done)
    assert "".join(deltas) == events[-1].result.text
    assert "�" not in "".join(deltas)
    assert re.fullmatch("(👍|ñ|[ab]){8}", events[-1].result.text)


def test_an_empty_batch_is_an_empty_list(model: Any, tokenizer: Any) -> None:
    assert mw.generate(model, [], choices=["a"], tokenizer=tokenizer) == []


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"max_tokens": 0}, ValueError, "max_tokens"),
        ({"temperature": -1.0}, ValueError, "temperature"),
        ({"regex": "a"}, TypeError, "choices"),
        ({"prompt": ""}, ValueError, "empty"),
        ({"tokenizer": None}, ValueError, "pass tokenizer="),
        ({"tempreature": 1.0}, TypeError, "tempreature"),
    ],
)
def test_bad_arguments_are_refused(
    model: Any, tokenizer: Any, settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    call: dict[str, Any] = {"prompt": "x", "choices": ["a", "b"], "tokenizer": tokenizer}
    with pytest.raises(error, match=says):
        mw.generate(model, **{**call, **settings})


def test_what_is_no_model_is_refused(tokenizer: Any) -> None:
    with pytest.raises(TypeError, match="causal language model"):
        mw.generate("model", "x", choices=["a"], tokenizer=tokenizer)


def test_padding_leaves_the_logits_of_a_prompt_alone(model: Any) -> None:
    short, long = [5, 6, 7], list(range(40))
    batch, alone = CausalModel(model), CausalModel(model)
    together, single = batch.prefill([short, long]), alone.prefill([short])
    assert torch.allclose(together[0], single[0], atol=1e-5)
    for token in (9, 3):
        together, single = batch.step([token, 1]), alone.step([token])
        assert torch.allclose(together[0], single[0], atol=1e-5)
    whole = CausalModel(model).prefill([[*short, 9, 3]])
    assert torch.allclose(single[0], whole[0], atol=1e-5)


def test_compilers_are_kept_for_the_last_tokenizers_only(tokenizer: Any) -> None:
    cache = CompilerCache(capacity=1)
    other = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, eos_token="</s>")
    size = len(tokenizer)
    first = cache.get(tokenizer, size=size, end_ids=())
    assert cache.get(tokenizer, size=size, end_ids=()) is first
    assert cache.get(other, size=size, end_ids=()) is not first
    assert cache.get(tokenizer, size=size, end_ids=()) is not first


def test_the_model_config_adds_end_tokens(model: Any, tokenizer: Any) -> None:
    eot = tokenizer.convert_tokens_to_ids("<|eot|>")
    cache = CompilerCache()
    compiler = cache.get(tokenizer, size=len(tokenizer), end_ids=(eot,))
    assert eot in compiler.vocabulary.eos_ids
    bits = mw.allocate_bitmask(1, len(tokenizer))
    compiler.regex("a?").matcher().fill_bitmask(bits, 0)  # type: ignore[attr-defined]
    assert np.uint32(bits[0, eot // 32]) >> eot % 32 & 1
