"""Check that a wheel holds the package's files, all of them and nothing else.

Usage: ``python .ci/check_wheel.py WHEEL``. With the repository root as the package, a wrong
setting silently ships tests and build folders, or drops a sub-package.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("decoding", "fsm", "grammar", "integrations")


def expected_files() -> set[str]:
    """The package's files in the working tree, as they are named in the wheel."""
    sources = [*ROOT.glob("*.py"), ROOT / "py.typed"]
    for layer in LAYERS:
        sources += (ROOT / layer).rglob("*.py")
    return {f"maskwright/{source.relative_to(ROOT).as_posix()}" for source in sources}


def main(wheel: str) -> int:
    """Print what differs; returns the exit status."""
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    packed = {name for name in names if ".dist-info/" not in name}
    expected = expected_files()
    for name in sorted(expected - packed):
        print(f"missing from the wheel: {name}")
    for name in sorted(packed - expected):
        print(f"not wanted in the wheel: {name}")
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        print("missing from the wheel: LICENSE")
        return 1
    if packed != expected:
        return 1
    print(f"{len(packed)} files, as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
