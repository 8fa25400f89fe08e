"""A short walk of `fuzz`, the same each time: `make fuzz` goes further, and elsewhere each time."""

from __future__ import annotations

from fuzzing import fuzz
from fuzzing.walk import CLASSES, walk
from support.http_server import serving, started


def test_whatever_is_asked_is_answered_soon_and_never_with_a_failure() -> None:
    with serving() as url:
        found = fuzz.fuzz(url, seconds=15, seed=7, is_quick=True)
    assert found.codes.total() > 0  # what is wrong with an answer is raised; how many there are is the machine's to say


def test_patches_documents_selectors_and_definitions_of_all_sorts_are_answered_soon_and_never_with_a_failure() -> None:
    with started("--history", "1s") as server:
        url, pid = server.url, server.pid
        walker, _ = walk(url, pid, seconds=15, seed=7)
    assert {name for name, _ in walker.codes} > CLASSES.keys()
