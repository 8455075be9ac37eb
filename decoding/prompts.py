"""Prompts to token ids: texts as they are, messages through the tokenizer's chat template.

A text is fed as it stands (with the tokenizer's own BOS, if it adds one): the model continues
it. Wrapping it silently as a user's message would make completion impossible to ask for. To talk
to an instruct model, pass messages: ``[{"role": "user", "content": "…"}]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["Chat", "Prompt", "Prompts", "encode_prompts", "is_batch"]

Chat: TypeAlias = list[dict[str, Any]]
Prompt: TypeAlias = str | Chat
Prompts: TypeAlias = list[str] | list[Chat]


def is_batch(prompt: Any) -> bool:
    """Whether it is several prompts. Raises ``TypeError`` for anything that is no prompt."""
    if isinstance(prompt, str):
        return False
    if isinstance(prompt, Sequence) and not isinstance(prompt, bytes):
        if _are_messages(prompt):
            return False
        if all(isinstance(item, str) for item in prompt) or (
            all(isinstance(item, Sequence) and _are_messages(item) for item in prompt)
        ):
            return True
    raise TypeError(
        "prompt must be a text, a list of messages ({'role': …, 'content': …}), or a list of "
        f"either, not {type(prompt).__name__}"
    )


def _are_messages(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(item, Mapping) for item in value)


def encode_prompts(tokenizer: Any, prompts: Sequence[str | Chat]) -> list[list[int]]:
    """Token ids of each prompt.

    Args:
        tokenizer: a transformers tokenizer.

    Raises:
        ValueError: messages for a tokenizer without a chat template, or an empty prompt.
    """
    encoded = []
    for prompt in prompts:
        if isinstance(prompt, str):
            ids = tokenizer(prompt)["input_ids"]
        else:
            if getattr(tokenizer, "chat_template", None) is None:
                raise ValueError(
                    "the tokenizer has no chat template: pass the prompt as a text, or set "
                    "tokenizer.chat_template"
                )
            text = tokenizer.apply_chat_template(
                list(prompt), tokenize=False, add_generation_prompt=True
            )
            # The template has written the special tokens already.
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            raise ValueError("a prompt is empty: the model needs at least one token to start from")
        encoded.append(list(ids))
    return encoded
