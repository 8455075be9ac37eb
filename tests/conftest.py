"""Hypothesis profiles and the shared data.

``ci`` (the default) is deterministic; ``--hypothesis-profile=long`` searches longer and at random.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    derandomize=False,
    deadline=None,
    max_examples=10_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--data",
        type=Path,
        default=_DEFAULT_DATA,
        help="folder of tokenizers, MaskBench and suites (default: ../shared/data)",
    )


@pytest.fixture(scope="session")
def data_dir(request: pytest.FixtureRequest) -> Path:
    """The shared data's folder; the test is skipped where there is none."""
    folder: Path = request.config.getoption("--data")
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}: pass --data")
    return folder
