"""A real server with an empty store in memory, for tests that ask it over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import served
from served import FEW, Server


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Its URL."""
    with started(*options) as server:
        yield server.url


@contextmanager
def started(*options: str) -> Iterator[Server]:
    """The server itself."""
    with tempfile.TemporaryDirectory() as folder, served.serving(Path(folder), "memory:", *FEW, *options) as server:
        yield server
