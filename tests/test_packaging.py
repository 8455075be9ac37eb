"""The package's surface and its metadata: public names, listed sub-packages, README commands."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

import maskwright as mw

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Adding a name here is a decision: it can never be renamed.
PUBLIC_NAMES = {
    "BitmaskError",
    "Compiler",
    "Done",
    "GenerationError",
    "GrammarError",
    "JsonOptions",
    "LimitError",
    "Limits",
    "MaskwrightError",
    "Matcher",
    "Result",
    "SamplingParams",
    "TextDelta",
    "TokenFSM",
    "TokenRejectedError",
    "UnsatisfiableError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "allocate_bitmask",
    "apply_bitmask",
    "complete",
    "fill_bitmasks",
    "generate",
    "stream",
}


def package_folders() -> set[str]:
    """Dotted names of the root and of every folder below the layers that holds modules."""
    names = {"maskwright"}
    for layer in ("decoding", "fsm", "grammar", "integrations"):
        for source in (ROOT / layer).rglob("*.py"):
            names.add(".".join(("maskwright", *source.relative_to(ROOT).parent.parts)))
    return names


def readme_command(name: str) -> str:
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(rf"<!-- command: {name} -->\n```sh\n(.*?)\n```\n", text, re.DOTALL)
    assert len(blocks) == 1
    command: str = blocks[0]
    return command


def test_the_public_surface_is_exactly_the_pinned_names() -> None:
    assert set(mw.__all__) == PUBLIC_NAMES
    assert list(mw.__all__) == sorted(mw.__all__)


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES))
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    assert getattr(mw, name).__doc__
    assert name in dir(mw)


def test_the_version_is_that_of_the_project() -> None:
    assert mw.__version__ == PROJECT["project"]["version"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        mw.no_such_name  # noqa: B018


def test_every_package_folder_is_listed_and_is_a_regular_package() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert set(listed) == package_folders()
    assert len(listed) == len(set(listed))
    for name in listed:
        assert (ROOT / Path(*name.split(".")[1:]) / "__init__.py").is_file(), name


def test_the_root_is_imported_once_under_its_own_name() -> None:
    # pytest would otherwise import the root a second time, named after its folder.
    origin = Path(mw.__file__).resolve()
    copies = [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__file__", None) and Path(module.__file__ or "").resolve() == origin
    ]
    assert copies == ["maskwright"]
    assert importlib.import_module("maskwright") is mw


def test_the_package_is_marked_as_typed() -> None:
    assert PROJECT["tool"]["setuptools"]["package-data"] == {"maskwright": ["py.typed"]}
    assert (ROOT / "py.typed").is_file()


@pytest.mark.parametrize("name", ["demo", "test"])
def test_readme_commands_are_one_line_and_install_tested_versions(name: str) -> None:
    command = readme_command(name)
    assert "\n" not in command
    extra = re.search(r"pip install -c constraints.txt -e '\.\[(\w+)\]'", command)
    assert extra is not None
    assert extra[1] in PROJECT["project"]["optional-dependencies"]


def test_the_demo_command_runs_an_example_that_exists() -> None:
    script = readme_command("demo").split()[-1]
    assert (ROOT / script).is_file()


def test_constraints_pin_every_dependency_of_the_tested_extras() -> None:
    def normal(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {normal(line.split("==")[0]) for line in lines if line and line[0] != "#"}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in ("transformers", "demo", "test", "lint", "bench"):
        wanted += extras[extra]
    names = {normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in wanted}
    assert names - {"maskwright"} <= pinned
    assert all("==" in line for line in lines if line and line[0] != "#")
