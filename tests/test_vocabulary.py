"""Vocabularies: exact bytes for every tokenizer family, ends of text, sizes and the disk cache."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistral_common.tokens.tokenizers.tekken import SpecialTokenInfo, Tekkenizer, TokenInfo
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import maskwright.fsm.vocabulary as vocabulary_module
from maskwright.errors import VocabularyError
from maskwright.fsm.vocabulary import Vocabulary
from maskwright.fsm.vocabulary_cache import ArrayCache, default_cache_directory

TEXTS = [
    "Hello, world! It's 12,345.67 o'clock.",
    'def f(x):\n\treturn {"a": [x ** 2, None]}  # comment\r\n\r\n\r\n    pass\n',
    "emoji 🎉👩‍👩‍👧‍👦🏳️‍🌈 and 🇩🇪, rare 𐍈𝔘𓀀",
    "中文字符,日本語のテキスト、한국어 텍스트",
    "naïve café Ærøskøbing Zażółć gęślą jaźń ẞ ﬁ ½",
    "mixed: русский, עברית, العربية, हिन्दी, ไทย",
    "control \x00\x01\x07\x1b\x7f\x85\u200b\u2028\ufeff end",
    "   leading,  double,   triple,                 many   ",
    " \n \t \n\n\t\t  \u00a0\u3000",
    "\n",
    "{",
    "<0x0A> Ġ Ċ âĢĻ ##ing </w> <unk",
    '{"key": "va\\u00e9lue", "n": -1.5e+10, "😀": [true,false,null]}',
    "",
]
NAMES = ["llama3_1", "qwen3", "gptoss", "gemma3", "llama2", "deepseek_v3"]
SIZES = {
    "llama3_1": 128_256,
    "qwen3": 151_669,
    "gptoss": 200_019,
    "gemma3": 262_145,
    "llama2": 32_000,
    "deepseek_v3": 128_815,
}
ENDS = {
    "llama3_1": ["<|end_of_text|>", "<|eot_id|>"],
    "qwen3": ["<|endoftext|>", "<|im_end|>"],
    "gptoss": ["<|endoftext|>", "<|return|>"],
    "gemma3": ["<eos>", "<end_of_turn>"],
    "llama2": ["</s>"],
    "deepseek_v3": ["<｜end▁of▁sentence｜>"],  # noqa: RUF001 - DeepSeek's own spelling
}


def tokenizer_file(data_dir: Path, name: str) -> Path:
    path = data_dir / "tokenizers" / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"no tokenizer at {path}: pass --data")
    return path


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest, data_dir: Path) -> tuple[str, Tokenizer, Vocabulary]:
    """One real tokenizer at a time, with its vocabulary."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file(data_dir, request.param)))
    return request.param, tokenizer, Vocabulary.from_tokenizer(tokenizer, use_cache=False)


class TestRealTokenizers:
    def test_encodings_concatenate_to_the_text(
        self, real: tuple[str, Tokenizer, Vocabulary]
    ) -> None:
        name, tokenizer, vocabulary = real
        # Llama 2 puts a blank before every text; it is part of the first token's bytes.
        before = b" " if name == "llama2" else b""
        for text in TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert vocabulary.join(ids) == (before + text.encode() if text else b"")

    def test_spelling_is_exact_where_the_tokenizer_can_be(
        self, real: tuple[str, Tokenizer, Vocabulary]
    ) -> None:
        _, _, vocabulary = real
        for text in TEXTS:
            ids = vocabulary.spell(text)
            assert ids is not None
            assert vocabulary.join(ids) == text.encode()
            assert vocabulary.decode(ids) == text

    def test_bytes_agree_with_the_tokenizers_own_decoder(
        self, real: tuple[str, Tokenizer, Vocabulary]
    ) -> None:
        # An independent view of some tokens: decoded behind another one, because a decoder may
        # strip the start of a text.
        _, tokenizer, vocabulary = real
        anchor = tokenizer.encode("a", add_special_tokens=False).ids[-1]
        checked = 0
        for token in vocabulary.sorted_ids[:: vocabulary.size // 2_000].tolist():
            expected = tokenizer.decode([anchor, token, anchor], skip_special_tokens=False)
            own = vocabulary.decode([anchor, token, anchor])
            assert own == expected or own == " " + expected, token
            checked += 1
        assert checked > 1_000

    def test_order_is_by_bytes(self, real: tuple[str, Tokenizer, Vocabulary]) -> None:
        _, _, vocabulary = real
        data = [vocabulary.token_bytes(t) for t in range(vocabulary.size)]
        expected = sorted((t for t, value in enumerate(data) if value), key=data.__getitem__)
        assert vocabulary.sorted_ids.tolist() == expected

    def test_size_ends_and_specials(self, real: tuple[str, Tokenizer, Vocabulary]) -> None:
        name, tokenizer, vocabulary = real
        assert vocabulary.size == SIZES[name]
        assert set(vocabulary.eos_ids) == {tokenizer.token_to_id(end) for end in ENDS[name]}
        special = {t for t, a in tokenizer.get_added_tokens_decoder().items() if a.special}
        assert special <= vocabulary.special_ids
        assert all(vocabulary.token_bytes(t) == b"" for t in special)
        for token, added in tokenizer.get_added_tokens_decoder().items():
            if token not in vocabulary.special_ids:
                content = added.content.replace("▁", " ") if name == "gemma3" else added.content
                assert vocabulary.token_bytes(token) == content.encode()
                assert vocabulary.added_tokens[added.content] == token

    def test_the_name_of_a_special_token_is_not_spelled_by_it(
        self, real: tuple[str, Tokenizer, Vocabulary]
    ) -> None:
        name, _, vocabulary = real
        assert vocabulary.spell(f"a{ENDS[name][0]}b") is None


@pytest.mark.parametrize(("name", "eos"), [("llama2", "</s>"), ("llama3_1", "<|eot_id|>")])
def test_transformers_tokenizers_equal_their_backend(data_dir: Path, name: str, eos: str) -> None:
    from transformers import PreTrainedTokenizerFast

    path = str(tokenizer_file(data_dir, name))
    fast = PreTrainedTokenizerFast(tokenizer_file=path, eos_token=eos)
    vocabulary = Vocabulary.from_tokenizer(fast, use_cache=False)
    raw = Vocabulary.from_tokenizer(Tokenizer.from_file(path), use_cache=False)
    assert vocabulary.blob.tobytes() == raw.blob.tobytes()
    assert vocabulary.offsets.tolist() == raw.offsets.tolist()
    assert vocabulary.eos_ids[0] == fast.eos_token_id
    assert set(vocabulary.eos_ids) == set(raw.eos_ids)


# --- tokenizers of the tokenizers package, made by hand -------------------------------------


def byte_level(vocab: dict[str, int], *, decoder: Any = None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoder or decoders.ByteLevel()
    return tokenizer


def spaced(vocab: dict[str, int], *steps: Any, byte_fallback: bool = True) -> Tokenizer:
    model = models.BPE(vocab=vocab, merges=[], unk_token="<unk>", byte_fallback=byte_fallback)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence(
        list(steps) or [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return tokenizer


def read(tokenizer: Any, **options: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(tokenizer, use_cache=False, **options)


def all_bytes(vocabulary: Vocabulary) -> list[bytes]:
    return [vocabulary.token_bytes(t) for t in range(vocabulary.size)]


def test_all_bytes_of_a_byte_level_alphabet() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = byte_level({c: t for t, c in enumerate(alphabet)})
    vocabulary = read(tokenizer, eos_ids=[0])
    assert alphabet[0] == "!"
    assert sorted(all_bytes(vocabulary)[1:]) == sorted({bytes([b]) for b in range(256)} - {b"!"})
    text = "a \n\x00é🎉"
    assert vocabulary.join(tokenizer.encode(text).ids) == text.encode()


def test_partial_characters_stay_partial() -> None:
    vocabulary = read(byte_level({"ðŁ": 0, "İ": 1, "ī": 2, "x": 3}), eos_ids=[3])
    assert all_bytes(vocabulary) == [b"\xf0\x9f", b"\x8e", b"\x89", b""]
    assert vocabulary.decode([0, 1, 2]) == "🎉"
    assert vocabulary.decode([0, 1]) == "\ufffd"


def test_byte_level_tokens_outside_the_alphabet_are_literal() -> None:
    vocabulary = read(byte_level({"a": 0, "a▁b": 1, "Ġ🎉": 2, "é": 3, "e": 4}), eos_ids=[4])
    assert all_bytes(vocabulary) == [b"a", "a▁b".encode(), "Ġ🎉".encode(), b"\xe9", b""]


def test_a_byte_level_pre_tokenizer_stands_in_for_a_missing_decoder() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"Ġa": 0, "b": 1}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()])
    assert all_bytes(read(tokenizer, eos_ids=[1])) == [b" a", b""]


def test_metaspace_and_byte_fallback() -> None:
    pieces = ["<unk>", "<0x0A>", "<0xe2>", "▁", "▁a▁b", "é🎉", "</s>", "<0xGG>"]
    tokenizer = spaced({piece: t for t, piece in enumerate(pieces)})
    tokenizer.add_special_tokens(["</s>"])
    vocabulary = read(tokenizer)
    assert vocabulary.eos_ids == (6,)
    assert all_bytes(vocabulary) == [
        b"", b"\n", b"\xe2", b" ", b" a b", "é🎉".encode(), b"", b"<0xGG>"
    ]  # fmt: skip
    # The unknown token stands for what could not be spelled, not for its own name.
    assert vocabulary.special_tokens == {"</s>": 6, "<unk>": 0}


def test_byte_pieces_are_text_without_byte_fallback() -> None:
    tokenizer = spaced({"<unk>": 0, "<0x0A>": 1, "▁": 2}, decoders.Metaspace(), byte_fallback=False)
    assert all_bytes(read(tokenizer, eos_ids=[0])) == [b"", b"<0x0A>", b" "]


def test_holes_are_empty_and_never_sorted() -> None:
    vocabulary = read(byte_level({"a": 0, "b": 3, "c": 7}), eos_ids=[7])
    assert all_bytes(vocabulary) == [b"a", b"", b"", b"b", b"", b"", b"", b""]
    assert vocabulary.sorted_ids.tolist() == [0, 3]
    assert vocabulary.special_ids == {7}


def test_holes_and_tokens_with_blanks_do_not_cancel_out() -> None:
    # As many blanks between the decoded tokens as without either.
    vocabulary = read(byte_level({"a": 0, "b b": 2, "c": 3}), eos_ids=[3])
    assert all_bytes(vocabulary) == [b"a", b"", b"b b", b""]


def test_tokens_with_blanks_are_read() -> None:
    vocabulary = read(byte_level({"a": 0, " ": 1, "x y": 2, "c": 3}), eos_ids=[3])
    assert all_bytes(vocabulary) == [b"a", b" ", b"x y", b""]


def test_an_empty_model_has_only_added_tokens() -> None:
    tokenizer = byte_level({})
    tokenizer.add_special_tokens(["<eos>"])
    tokenizer.add_tokens(["hello"])
    vocabulary = read(tokenizer)
    assert all_bytes(vocabulary) == [b"", b"hello"]
    assert (dict(vocabulary.special_tokens), dict(vocabulary.added_tokens)) == (
        {"<eos>": 0},
        {"hello": 1},
    )


def test_added_tokens_are_literal_text_unless_special() -> None:
    tokenizer = byte_level({"a": 0, "Ġ": 1})
    tokenizer.add_tokens(["<h1>", "é Ġ", AddedToken("a", normalized=False)])
    tokenizer.add_special_tokens(["<s>", "<|im_end|>"])
    vocabulary = read(tokenizer)
    assert all_bytes(vocabulary) == [b"a", b" ", b"<h1>", "é Ġ".encode(), b"", b""]
    assert dict(vocabulary.added_tokens) == {"<h1>": 2, "é Ġ": 3, "a": 0}
    assert dict(vocabulary.special_tokens) == {"<s>": 4, "<|im_end|>": 5}
    assert vocabulary.eos_ids == (5,)


@pytest.mark.parametrize(
    ("name", "is_text"),
    [
        ("<think>", False),
        ("</tool_call>", False),
        ("<|fim_prefix|>", False),
        ("<\uff5ctool\u2581sep\uff5c>", False),
        ("<unused12>", False),
        ("[multimodal]", False),
        ("[INST]", False),
        ("<table>", True),
        ("</h1>", True),
        ("\n\n", True),
        ("a<b>c", True),
    ],
)
def test_added_markers_are_never_text(name: str, is_text: bool) -> None:
    tokenizer = byte_level({"a": 0})
    tokenizer.add_tokens([AddedToken(name, special=False)])
    tokenizer.add_special_tokens(["</s>"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    token = tokenizer.token_to_id(name)
    assert (token in vocabulary.special_ids) != is_text
    assert vocabulary.token_bytes(token) == (name.encode() if is_text else b"")


def test_added_tokens_pass_through_a_decoder_of_blanks() -> None:
    tokenizer = spaced({"<unk>": 0, "▁": 1})
    tokenizer.add_tokens(["▁▁", "<0x09>", "é"])
    assert all_bytes(read(tokenizer, eos_ids=[0])) == [b"", b" ", b"  ", b"\t", "é".encode()]


def test_an_added_token_can_be_the_end() -> None:
    tokenizer = byte_level({"a": 0})
    tokenizer.add_tokens(["<stop>"])
    vocabulary = read(tokenizer, eos_ids=[1])
    assert vocabulary.special_tokens == {"<stop>": 1}
    assert vocabulary.added_tokens == {}
    assert vocabulary.sorted_ids.tolist() == [0]


def test_spell_looks_through_a_blank_put_before_every_text() -> None:
    tokenizer = spaced({"<unk>": 0, "▁": 1, "a": 2, "<0x0A>": 3})
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    vocabulary = read(tokenizer, eos_ids=[0])
    assert vocabulary.encode is not None
    assert vocabulary.encode("a") == [1, 2]
    assert vocabulary.spell("a") == [2]
    assert vocabulary.spell(" a") == [1, 2]
    assert vocabulary.spell("b") is None
    assert vocabulary.spell("\ud800") is None


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (Tokenizer(models.WordPiece({"a": 0, "##b": 1}, unk_token="a")), "depends on their nei"),
        (Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>")), "word boundaries"),
        (Tokenizer(models.BPE({"a": 0}, [])), "no decoder"),
        (spaced({"<unk>": 0}, decoders.WordPiece()), "WordPiece"),
        (spaced({"<unk>": 0}, decoders.Replace(Regex("a+"), "b")), "Regex"),
        (spaced({"<unk>": 0}, decoders.Replace("x", " ")), '"x"'),
        (spaced({"<unk>": 0}, decoders.Metaspace(replacement="_")), "Metaspace"),
        (spaced({"<unk>": 0}, decoders.Strip(" ", 1, 0)), "Strip"),
        (spaced({"<unk>": 0}, decoders.Fuse(), decoders.ByteFallback()), "ByteFallback"),
        (spaced({"<unk>": 0}, decoders.Replace("▁", " "), decoders.ByteLevel()), "ByteLevel"),
    ],
)
def test_tokens_without_exact_bytes_are_refused(tokenizer: Tokenizer, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        read(tokenizer, eos_ids=[0])


@pytest.mark.parametrize("thing", [None, "gpt2", object(), {"a": 0}, Tokenizer])
def test_other_objects_are_refused_with_a_list_of_what_works(thing: object) -> None:
    with pytest.raises(VocabularyError, match=r"tiktoken\.Encoding.*from_tokens"):
        read(thing)


def test_an_absurdly_high_id_is_refused() -> None:
    with pytest.raises(VocabularyError, match="token id 4000000000 is too high"):
        read(byte_level({"a": 0, "b": 4_000_000_000}), eos_ids=[0])


# --- tiktoken, sentencepiece, tekken --------------------------------------------------------

BYTES = [bytes([b]) for b in range(256)]


def test_tiktoken_encodings() -> None:
    ranks = {token: rank for rank, token in enumerate([*BYTES, b" t", b"he", b"\xf0\x9f"])}
    encoding = tiktoken.Encoding(
        "tiny",
        pat_str=r"\s?\S+|\s+",
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 262, "<|fim|>": 260},
    )
    vocabulary = read(encoding)
    assert vocabulary.size == 263
    assert vocabulary.eos_ids == (262,)
    assert vocabulary.special_tokens == {"<|endoftext|>": 262, "<|fim|>": 260}
    assert all_bytes(vocabulary) == [*ranks, b"", b"", b"", b""]
    for text in TEXTS:
        ids = vocabulary.spell(text)
        assert ids == encoding.encode_ordinary(text)
    # encode_ordinary never reads a special token in text, so its name can be spelled.
    assert vocabulary.spell("<|fim|>") == list(b"<|fim|>")


@pytest.fixture(scope="module")
def processor() -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the quick brown fox", "hello world the end", "naïve café"] * 3),
        model_writer=model,
        model_type="bpe",
        vocab_size=330,
        hard_vocab_limit=False,
        byte_fallback=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["<tool>"],
        control_symbols=["<|im_end|>"],
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_sentencepiece_processors(processor: sentencepiece.SentencePieceProcessor) -> None:
    vocabulary = read(processor)
    control = processor.piece_to_id("<|im_end|>")
    assert vocabulary.size == processor.get_piece_size()
    assert vocabulary.eos_ids == (processor.eos_id(), control)
    assert vocabulary.special_ids == {
        processor.unk_id(), processor.bos_id(), processor.eos_id(), control
    }  # fmt: skip
    assert vocabulary.token_bytes(processor.piece_to_id("<0xE2>")) == b"\xe2"
    assert vocabulary.token_bytes(processor.piece_to_id("<tool>")) == b"<tool>"
    for text in TEXTS[1:]:
        if "\0" in text or "▁" in text:
            continue  # sentencepiece itself reads these as an end and as a blank
        ids = processor.encode(text)
        assert vocabulary.join(ids) == (b" " + text.encode() if text else b"")
        spelled = vocabulary.spell(text)
        assert spelled is not None
        assert vocabulary.join(spelled) == text.encode()


@pytest.fixture(scope="module")
def tekken() -> Tekkenizer:
    tokens = [*BYTES, b"ab", b" the", b"\xf0\x9f"]
    vocab = [
        TokenInfo(rank=rank, token_bytes=base64.b64encode(token).decode(), token_str=None)
        for rank, token in enumerate(tokens)
    ]
    specials = [
        SpecialTokenInfo(rank=rank, token_str=name, is_control=True)
        for rank, name in enumerate(["<unk>", "<s>", "</s>"])
    ]
    return Tekkenizer(
        vocab=vocab,
        special_tokens=specials,
        pattern=r"\s?\S+|\s+",
        vocab_size=len(tokens) + 5,
        num_special_tokens=5,
        version=TokenizerVersion.v11,
    )


def test_tekken_tokenizers(tekken: Tekkenizer) -> None:
    vocabulary = read(tekken)
    assert all_bytes(vocabulary) == [b""] * 5 + [*BYTES, b"ab", b" the", b"\xf0\x9f"]
    assert vocabulary.eos_ids == (2,)
    assert vocabulary.special_ids == frozenset(range(5))  # reserved ones too
    assert vocabulary.special_tokens["<SPECIAL_4>"] == 4
    for text in TEXTS:
        assert vocabulary.spell(text) == tekken.encode(text, bos=False, eos=False)


def test_a_mistral_tokenizer_is_read_through(tekken: Tekkenizer) -> None:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    class Instruct:
        tokenizer = tekken

    wrapper = MistralTokenizer(Instruct(), None, None)  # type: ignore[arg-type]
    assert read(wrapper).fingerprint == read(tekken).fingerprint


# --- plain lists, ends and sizes ------------------------------------------------------------


def test_duplicates_and_holes_in_a_list() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"b", b"a", None, b"b", b"", b"</s>", b"<tool>"], eos_ids=[5], special_ids=[6]
    )
    assert vocabulary.sorted_ids.tolist() == [1, 0, 3]
    assert vocabulary.special_tokens == {"</s>": 5, "<tool>": 6}
    assert all_bytes(vocabulary) == [b"b", b"a", b"", b"b", b"", b"", b""]
    assert vocabulary.spell("a") is None  # no tokenizer, no canonical tokens


@given(st.lists(st.none() | st.binary(max_size=10), min_size=1, max_size=30), st.data())
def test_lists_round_trip(tokens: list[bytes | None], data: st.DataObject) -> None:
    eos = data.draw(st.integers(0, len(tokens) - 1))
    size = data.draw(st.integers(eos + 1, len(tokens) + 40))
    vocabulary = Vocabulary.from_tokens(tokens, eos_ids=[eos], size=size)
    expected = [b"" if t == eos else token or b"" for t, token in enumerate(tokens)]
    expected = [*expected, *([b""] * size)][:size]
    assert all_bytes(vocabulary) == expected
    assert len(vocabulary.offsets) == size + 1
    assert vocabulary.sorted_ids.tolist() == sorted(
        (t for t in range(size) if expected[t]), key=lambda t: (expected[t], t)
    )


def test_wider_logits_are_padded_with_ids_that_spell_nothing() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"</s>"], eos_ids=[1], size=64)
    assert vocabulary.size == 64
    assert len(vocabulary.offsets) == 65
    assert vocabulary.token_bytes(63) == b""
    assert vocabulary.sorted_ids.tolist() == [0]


def test_narrower_logits_drop_the_ids_beyond_them() -> None:
    tokenizer = byte_level({"a": 0, "b": 1, "c": 2})
    tokenizer.add_special_tokens(["</s>", "<|im_end|>"])
    assert read(tokenizer).eos_ids == (3, 4)
    narrow = read(tokenizer, size=4)
    assert narrow.eos_ids == (3,)
    assert narrow.special_ids == {3}
    assert narrow.special_tokens == {"</s>": 3}
    with pytest.raises(VocabularyError, match="eos_ids"):
        read(tokenizer, size=3)
    narrowest = read(tokenizer, size=2, eos_ids=[1])
    assert narrowest.sorted_ids.tolist() == [0]
    assert narrowest.spell("c") is None


def test_ends_are_the_callers_if_given() -> None:
    tokenizer = byte_level({"a": 0, "b": 1})
    tokenizer.add_special_tokens(["</s>"])
    vocabulary = read(tokenizer, eos_ids=np.array([1, 1], np.int64))
    assert vocabulary.eos_ids == (1,)
    assert vocabulary.special_ids == {1, 2}
    assert vocabulary.sorted_ids.tolist() == [0]


def test_an_unknown_end_asks_for_ids_and_names_the_special_tokens() -> None:
    tokenizer = byte_level({"a": 0})
    tokenizer.add_special_tokens(["<|finito|>"])
    with pytest.raises(VocabularyError, match=r"pass eos_ids=\[…\].*'<\|finito\|>': 1"):
        read(tokenizer)
    with pytest.raises(VocabularyError, match="pass eos_ids"):
        Vocabulary.from_tokens([b"a"], eos_ids=[])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eos_ids": [2]}, r"eos_ids has 2; the vocabulary has the ids 0 \.\. 1"),
        ({"eos_ids": [-1]}, "eos_ids has -1"),
        ({"eos_ids": ["</s>"]}, "list of token ids"),
        ({"eos_ids": 1}, "list of token ids"),
        ({"eos_ids": [1], "special_ids": [7]}, "special_ids has 7"),
        ({"eos_ids": [1], "size": 0}, "size is 0"),
        ({"eos_ids": [1], "size": 1 << 40}, "size is 1099511627776"),
        ({"eos_ids": [1], "size": 1}, "eos_ids has 1"),
    ],
)
def test_ids_and_sizes_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokens([b"a", b"b"], **options)


def test_lists_of_text_are_refused() -> None:
    with pytest.raises(VocabularyError, match="token 1 is str"):
        Vocabulary.from_tokens([b"a", "b"], eos_ids=[0])  # type: ignore[list-item]


@pytest.mark.parametrize("token", [-1, 2])
def test_token_ids_outside_the_vocabulary_are_refused(token: int) -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"b"], eos_ids=[1])
    with pytest.raises(VocabularyError, match=r"outside 0 \.\. 1"):
        vocabulary.token_bytes(token)


def test_overlong_tokens_are_refused() -> None:
    with pytest.raises(VocabularyError, match="token 1 has 70000 bytes"):
        Vocabulary.from_tokens([b"a", b"x" * 70_000, b""], eos_ids=[2])


def test_fingerprints_tell_vocabularies_apart() -> None:
    def fingerprint(*tokens: bytes | None, **options: Any) -> str:
        return Vocabulary.from_tokens(tokens, **{"eos_ids": [0], **options}).fingerprint

    base = fingerprint(b"$", b"a", b"bc")
    assert base == fingerprint(b"$", b"a", b"bc")
    others = [
        fingerprint(b"$", b"ab", b"c"),
        fingerprint(b"$", b"a", b"bc", None),
        fingerprint(b"$", b"a", b"bc", eos_ids=[0, 1]),
        fingerprint(b"$", b"a", b"bc", special_ids=[1]),
        fingerprint(b"%", b"a", b"bc"),
    ]
    assert len({base, *others}) == 6


# --- the disk cache -------------------------------------------------------------------------


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """A small tokenizer that is worth caching for once."""
    monkeypatch.setattr(vocabulary_module, "_MIN_CACHED", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    return byte_level({"b": 0, "ab": 1, "a": 2, "c": 3})


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.*"))


def test_the_cache_is_used(
    cached: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=tmp_path / "here")
    (entry,) = entries(tmp_path)
    assert entry.parent == tmp_path / "here" / "vocabulary"

    def fail(*_: object) -> None:
        raise AssertionError("sorted again")

    monkeypatch.setattr(vocabulary_module, "sort_tokens", fail)
    again = Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=str(tmp_path / "here"))
    assert again.sorted_ids.tolist() == first.sorted_ids.tolist() == [2, 1, 0]
    assert again.fingerprint == first.fingerprint


def test_the_default_directory_follows_the_platform(cached: Tokenizer, tmp_path: Path) -> None:
    Vocabulary.from_tokenizer(cached, eos_ids=[3])
    (entry,) = entries(tmp_path)
    assert entry.parent == tmp_path / "elsewhere" / "maskwright" / "vocabulary"


def test_no_file_is_written_without_the_cache(cached: Tokenizer, tmp_path: Path) -> None:
    Vocabulary.from_tokenizer(cached, eos_ids=[3], use_cache=False)
    Vocabulary.from_tokens([b"a", b"b"], eos_ids=[0])
    assert entries(tmp_path) == []


def damage(content: bytes, how: str) -> bytes:
    middle = len(content) // 2
    return {
        "empty": b"",
        "cut": content[:middle],
        "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "text": b"not an archive",
        "pickle": b"\x80\x04K\x01.",
    }[how]


@pytest.mark.parametrize("how", ["empty", "cut", "text", "pickle"])
def test_a_damaged_entry_is_rebuilt(cached: Tokenizer, tmp_path: Path, how: str) -> None:
    Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole, how))
    again = Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=tmp_path)
    assert again.sorted_ids.tolist() == [2, 1, 0]
    assert entries(tmp_path) == [entry]
    assert len(entry.read_bytes()) == len(whole)


def test_an_entry_of_another_shape_is_rebuilt(cached: Tokenizer, tmp_path: Path) -> None:
    Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=tmp_path)
    (entry,) = entries(tmp_path)
    cache = ArrayCache(entry.parent)
    for wrong in ({"other": np.zeros(3, np.int32)}, {"sorted_ids": np.zeros(9, np.int32)}):
        cache.store(entry.stem, wrong)
        again = Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=tmp_path)
        assert again.sorted_ids.tolist() == [2, 1, 0]


def test_an_unusable_directory_is_no_error(cached: Tokenizer, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    vocabulary = Vocabulary.from_tokenizer(cached, eos_ids=[3], cache_dir=blocker)
    assert vocabulary.sorted_ids.tolist() == [2, 1, 0]


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    cache = ArrayCache(tmp_path)
    cache.store("key", {"a": np.arange(10_000, dtype=np.int32)})
    path = tmp_path / "key.npz"
    path.write_bytes(damage(path.read_bytes(), "flipped"))
    assert cache.load("key", "a") is None


def test_objects_are_never_read_from_the_cache(tmp_path: Path) -> None:
    np.savez(tmp_path / "key.npz", a=np.array([{"x": 1}], dtype=object))
    assert ArrayCache(tmp_path).load("key", "a") is None


def test_a_relative_xdg_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache_directory().is_absolute()
    assert default_cache_directory().name == "maskwright"
