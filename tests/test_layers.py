"""Dependencies point one way: grammar -> fsm -> decoding -> integrations.

The imports are read from the sources (those inside functions too), so that a module which only
a rare path imports counts as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("grammar", "fsm", "decoding", "integrations")
# Root modules that everything may import, and that import no layer.
FOUNDATION = ("errors", "jit", "limits")
FRAMEWORKS = frozenset({"torch", "transformers"})
ENGINES = frozenset(
    {"llama_cpp", "mlx", "mlx_lm", "onnxruntime_genai", "sglang", "tensorrt_llm", "vllm"}
)
RIVALS = frozenset({"llguidance", "outlines", "outlines_core", "xgrammar"})


def imported_names(source: str, package: tuple[str, ...]) -> set[str]:
    """Absolute dotted names that a module in ``package`` imports, under ``maskwright`` or not."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                assert base, "a relative import reaches above the package"
            else:
                base = ()
            module = (*base, *((node.module,) if node.module else ()))
            # `from . import fsm` imports a module by its name in the list.
            names.update(".".join((*module, alias.name)) for alias in node.names)
    return names


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    package = ("maskwright", *path.relative_to(ROOT).parent.parts)
    return imported_names(path.read_text("utf-8"), package)


def layers_of(names: set[str]) -> set[str]:
    parts = [name.split(".") for name in names]
    return {p[1] for p in parts if p[0] == "maskwright" and len(p) > 1 and p[1] in LAYERS}


def outside_of(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


LAYER_FILES = [
    pytest.param(layer, path, id=path.relative_to(ROOT).as_posix())
    for layer in LAYERS
    for path in sources(ROOT / layer)
]


@pytest.mark.parametrize(("layer", "path"), LAYER_FILES)
def test_a_layer_imports_only_itself_and_the_layers_before_it(layer: str, path: Path) -> None:
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    assert layers_of(imports_of(path)) <= allowed


@pytest.mark.parametrize(("layer", "path"), LAYER_FILES)
def test_only_the_decoding_and_integration_layers_know_frameworks(layer: str, path: Path) -> None:
    forbidden = RIVALS
    if layer in ("grammar", "fsm"):
        forbidden = forbidden | FRAMEWORKS
    if layer != "integrations":
        forbidden = forbidden | ENGINES
    assert not outside_of(imports_of(path)) & forbidden


def test_nothing_imports_a_layer_by_its_bare_name() -> None:
    # From the root that works, and gives a second copy of the module.
    folders = (*LAYERS, "tests", "examples", "benchmarks")
    paths = [*ROOT.glob("*.py"), *(path for name in folders for path in sources(ROOT / name))]
    bare = {path.name for path in paths if outside_of(imports_of(path)) & set(LAYERS)}
    assert not bare


@pytest.mark.parametrize("name", FOUNDATION)
def test_the_foundation_modules_import_no_layer(name: str) -> None:
    names = imports_of(ROOT / f"{name}.py")
    others = {n for n in names if n.startswith("maskwright.") and n.split(".")[1] not in FOUNDATION}
    assert not others


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.relative_to(ROOT).as_posix()) for p in ROOT.glob("*.py")]
)
def test_root_modules_import_no_framework_when_they_load(path: Path) -> None:
    top = ast.Module(
        [n for n in ast.parse(path.read_text("utf-8")).body if isinstance(n, ast.stmt)], []
    )
    eager = ast.Module([n for n in top.body if isinstance(n, ast.Import | ast.ImportFrom)], [])
    names = imported_names(ast.unparse(eager), ("maskwright",))
    assert not outside_of(names) & (FRAMEWORKS | ENGINES | RIVALS)


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = sorted(FRAMEWORKS | ENGINES | RIVALS | {"numba"})
    script = f"import sys, maskwright; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT.parent
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import fsm.trie", {"fsm.trie"}),
        ("from ..fsm import trie", {"maskwright.fsm.trie"}),
        ("from .. import fsm", {"maskwright.fsm"}),
        ("from . import ir", {"maskwright.grammar.ir"}),
        (
            "def f():\n    from ..decoding.bitmask import apply",
            {"maskwright.decoding.bitmask.apply"},
        ),
    ],
)
def test_the_reader_of_imports_sees_every_form(source: str, expected: set[str]) -> None:
    assert imported_names(source, ("maskwright", "grammar")) == expected
