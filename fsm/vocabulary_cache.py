"""Arrays on disk, by key: what is dear to compute and the same in every process.

One ``.npz`` file an entry, read with ``allow_pickle=False``: nothing in it can run code, and
its zip checksums turn a damaged file into a miss. Files are written under a temporary name
and renamed, so a reader sees a whole entry or none and two writers do not mix. Keys must
determine the contents (a hash of everything that they are computed from), so entries are
never stale, only deleted by whoever clears the directory.

A cache that cannot be read or written is a cache without entries, never an error.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ArrayCache", "default_cache_directory"]


def default_cache_directory() -> Path:
    """Where this platform keeps a user's caches, with a directory of our own.

    ``$XDG_CACHE_HOME`` if it is set to an absolute path, else ``%LOCALAPPDATA%`` on Windows,
    ``~/Library/Caches`` on macOS, ``~/.cache`` elsewhere.
    """
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):  # the XDG specification says to ignore a relative one
        return Path(xdg) / "maskwright"
    local = os.environ.get("LOCALAPPDATA", "") if sys.platform == "win32" else ""
    if local:
        return Path(local) / "maskwright"
    below = Path("Library", "Caches") if sys.platform == "darwin" else Path(".cache")
    # expanduser, unlike Path.home(), does not fail for a user without a home directory.
    return Path(os.path.expanduser("~")) / below / "maskwright"


@dataclass(frozen=True, slots=True)
class ArrayCache:
    """Named arrays by key in one directory.

    Attributes:
        directory: made on the first :meth:`store`; entries are ``directory/KEY.npz``.
    """

    directory: Path

    def load(self, key: str, *names: str) -> dict[str, npt.NDArray[Any]] | None:
        """The entry's arrays, exactly ``names``; ``None`` if absent, damaged or different."""
        try:
            # Opened here, because numpy leaves the file of a damaged archive open.
            with (
                open(self.directory / f"{key}.npz", "rb") as file,
                np.load(file, allow_pickle=False) as archive,
            ):
                if set(archive.files) != set(names):
                    return None
                return {name: archive[name] for name in names}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def store(self, key: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write an entry, replacing any other of the same key; on failure do nothing."""
        path = self.directory / f"{key}.npz"
        temporary: str | None = None
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.directory, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            os.replace(temporary, path)
        except OSError:
            if temporary is not None:
                with suppress(OSError):
                    os.unlink(temporary)
