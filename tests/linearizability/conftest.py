"""Folders for stores and their logs, in memory where possible: SIGKILL does not lose data written to a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path_factory.mktemp("store")
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)
