"""docs/concepts/life-of-a-delete.md names files and functions that exist."""

from __future__ import annotations

import re

import pytest

from support.source_names import ROOT, names_of

PAGE = ROOT / "docs" / "concepts" / "life-of-a-delete.md"
TEXT = PAGE.read_text()

LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)")
REFERENCE = re.compile(r"\[(?P<label>src/[^\]]+\.py)\]\((?P<target>[^)]+)\)\s+`(?P<name>[\w.]+)`")
STEP = re.compile(r"^(\d+)\. ", re.MULTILINE)
FEWEST_REFERENCES = 40
"""A pattern that finds nothing would pass every other test."""

REFERENCES = sorted({(found["label"], found["name"]) for found in REFERENCE.finditer(TEXT)})


def test_every_link_leads_to_a_file() -> None:
    assert not [target for _, target in LINK.findall(TEXT) if not (PAGE.parent / target).resolve().is_file()]


def test_every_link_to_source_shows_the_path_of_its_target_and_names_a_function() -> None:
    sources = [(label, target) for label, target in LINK.findall(TEXT) if target.endswith(".py")]
    assert len(sources) >= FEWEST_REFERENCES
    assert all((PAGE.parent / target).resolve() == ROOT / label for label, target in sources)
    assert len(REFERENCE.findall(TEXT)) == len(sources)


@pytest.mark.parametrize(("path", "name"), REFERENCES)
def test_named_function_exists(path: str, name: str) -> None:
    assert name in names_of(ROOT / path)


def test_names_without_a_link_exist_in_a_linked_file() -> None:
    known = frozenset[str]().union(*(names_of(ROOT / path) for path, _ in REFERENCES))
    assert not [name for name in re.findall(r"`([A-Z]\w+\.\w+)`", TEXT) if name not in known]


def test_steps_are_numbered_in_order() -> None:
    numbers = [int(number) for number in STEP.findall(TEXT)]
    assert numbers == list(range(1, len(numbers) + 1))
