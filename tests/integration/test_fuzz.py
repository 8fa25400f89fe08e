"""A short fuzz run, the same each time. `make fuzz` runs longer and with other seeds."""

from __future__ import annotations

from fuzzing import fuzz
from fuzzing.walk import CLASSES, walk
from support.http_server import memory_server_url, run_memory_server


def test_random_requests_are_answered_soon_and_never_with_500() -> None:
    with memory_server_url() as url:
        found = fuzz.fuzz(url, seconds=15, seed=7, is_quick=True)
    assert found.codes.total() > 0  # what is wrong with an answer is raised; how many there are is the machine's to say


def test_random_patches_objects_selectors_and_crds_are_answered_soon_and_never_with_500() -> None:
    with run_memory_server("--history", "1s") as server:
        url, pid = server.url, server.pid
        walker, _ = walk(url, pid, seconds=15, seed=7)
    assert {name for name, _ in walker.codes} > CLASSES.keys()
