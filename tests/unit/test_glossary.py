"""docs/glossary.md names modules and functions that exist. (`tools/check-names.py` checks that no module is missing.)"""

from __future__ import annotations

import re

import pytest

from support.doc_tables import DOCS, read_table
from support.source_names import ROOT, is_module, names_of

MODULES = (DOCS / "glossary.md").read_text().split("\n## Modules\n")[1]
PLACE = re.compile(r"\[`(?P<label>[^`]+)`\]\(\.\./(?P<target>[^)]+)\): `(?P<name>[\w.]+)`")

RULES = {rule: list(PLACE.finditer(where)) for rule, _, where in read_table("glossary.md", "rule")}
WORDS = {word: re.findall(r"`([\w.]+)`", where) for word, _, where in read_table("glossary.md", "word")}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_where_its_row_says(rule: str) -> None:
    assert RULES[rule], "the row names no file and function"
    for place in RULES[rule]:
        assert place["label"] == place["target"]
        assert place["name"] in names_of(ROOT / place["target"]), f"{place['target']} has no {place['name']}: correct the row"


def test_every_word_is_in_a_module_that_exists() -> None:
    assert not [f"{word}: {module}" for word, modules in WORDS.items() for module in modules if not is_module(module)]


def test_no_entry_is_left_of_a_module_that_is_gone() -> None:
    named = re.findall(r"^\| `([\w.]+)` \|", MODULES, re.MULTILINE)
    assert len(named) > 100, "the entries are no longer found"
    assert not [name for name in named if not is_module(name)]


def test_entries_of_a_package_are_in_its_table_and_sorted() -> None:
    for section in MODULES.split("\n### `")[2:]:
        package = section.partition("`")[0]
        named = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
        assert named == sorted(named), f"the table of {package} is not sorted"
        assert not [name for name in named if not name.startswith(f"{package}.")], f"these do not belong to {package}"
