"""The pages of docs/concepts name files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.source_names import ROOT, names_of

PAGES = sorted((ROOT / "docs" / "concepts").glob("*.md"))

LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)")
REFERENCE = re.compile(r"\[(?P<label>src/[^\]]+\.py)\]\((?P<target>[^)]+)\)\s+`(?P<name>[\w.]+)`")
STEP = re.compile(r"^(\d+)\. ", re.MULTILINE)
FEWEST_REFERENCES = {"life-of-a-delete.md": 40, "tenant-deletion.md": 30}
"""A pattern that finds nothing would pass every other test."""

REFERENCES = sorted({(found["label"], found["name"]) for page in PAGES for found in REFERENCE.finditer(page.read_text())})
of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@of_each_page
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert not [target for _, target in LINK.findall(page.read_text()) if not (page.parent / target).resolve().is_file()]


@of_each_page
def test_every_link_to_source_shows_the_path_of_its_target_and_names_a_function(page: Path) -> None:
    sources = [(label, target) for label, target in LINK.findall(page.read_text()) if target.endswith(".py")]
    assert len(sources) >= FEWEST_REFERENCES[page.name]
    assert all((page.parent / target).resolve() == ROOT / label for label, target in sources)
    assert len(REFERENCE.findall(page.read_text())) == len(sources)


@pytest.mark.parametrize(("path", "name"), REFERENCES)
def test_named_function_exists(path: str, name: str) -> None:
    assert name in names_of(ROOT / path)


@of_each_page
def test_names_without_a_link_exist_in_a_linked_file(page: Path) -> None:
    linked = [found["label"] for found in REFERENCE.finditer(page.read_text())]
    known = frozenset[str]().union(*(names_of(ROOT / path) for path in linked))
    assert not [name for name in re.findall(r"`([A-Z]\w+\.\w+)`", page.read_text()) if name not in known]


@of_each_page
def test_steps_are_numbered_in_order(page: Path) -> None:
    numbers = [int(number) for number in STEP.findall(page.read_text())]
    assert numbers == list(range(1, len(numbers) + 1))
