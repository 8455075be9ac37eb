"""A transformers causal language model as two calls: the prompts, then one token for each row.

Prompts of different lengths are padded on the left, so that the last column is the next token's
for every row; the attention mask hides the padding and the position ids do not count it, which
makes a row's logits those of its prompt alone, up to rounding. The key-value cache grows by one
column a step. Finished rows keep their place and are fed any token, because taking rows out of a
cache copies all of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["CausalModel", "end_ids", "logits_width"]


def logits_width(model: Any) -> int:
    """Number of logits of a model, padding included."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    weight = getattr(head, "weight", None)
    if weight is not None:
        return int(weight.shape[0])
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    return int(text.vocab_size)


def end_ids(model: Any) -> tuple[int, ...]:
    """The ids that end a text, as the model's generation config names them (often several)."""
    config = getattr(model, "generation_config", None) or model.config
    ids = getattr(config, "eos_token_id", None)
    if ids is None:
        return ()
    return (ids,) if isinstance(ids, int) else tuple(int(token) for token in ids)


class CausalModel:
    """One batch on its way through a model.

    Args:
        model: a transformers causal language model, in eval mode.

    Raises:
        TypeError: something else.
    """

    def __init__(self, model: Any) -> None:
        forward = getattr(model, "forward", None)
        if not callable(forward) or not hasattr(model, "config") or not hasattr(model, "device"):
            raise TypeError(
                "model must be a transformers causal language model (AutoModelForCausalLM), "
                f"not {type(model).__name__}"
            )
        if getattr(model.config, "is_encoder_decoder", False):
            raise TypeError(f"{type(model).__name__} is an encoder-decoder model, not a causal one")
        self._model = model
        self._parameters = inspect.signature(forward).parameters
        # transformers renamed the argument and the output's field.
        self._cache_name = "cache" if "cache" in self._parameters else "past_key_values"
        self._cache: Any = None

    def prefill(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Feed all prompts.

        Args:
            prompts: token ids, at least one for each row.

        Returns:
            float32[batch, size] logits of each row's next token.
        """
        import torch

        if not prompts or not all(prompts):
            raise ValueError("each prompt needs at least one token (an empty text has none)")
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        device = self._model.device
        ids, self._mask = ids.to(device), mask.to(device)
        positions = (self._mask.cumsum(dim=-1) - 1).clamp(min=0)
        self._position = positions[:, -1:]
        self._cache = None
        return self._forward(ids, positions)

    def step(self, tokens: Sequence[int]) -> torch.Tensor:
        """Feed one token for each row; same result as :meth:`prefill`."""
        import torch

        ids = torch.tensor(tokens).to(self._mask.device)[:, None]
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=-1)
        self._position = self._position + 1
        return self._forward(ids, self._position)

    def _forward(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        import torch

        extra: dict[str, Any] = {self._cache_name: self._cache}
        if "position_ids" in self._parameters:
            extra["position_ids"] = positions
        if "logits_to_keep" in self._parameters:
            extra["logits_to_keep"] = 1  # spares [batch, prompt, size] floats
        with torch.inference_mode():
            output = self._model(
                input_ids=ids,
                attention_mask=self._mask,
                use_cache=True,
                return_dict=True,
                **extra,
            )
            self._cache = getattr(output, self._cache_name)
            logits: torch.Tensor = output.logits[:, -1].float()
            return logits
