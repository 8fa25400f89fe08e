"""Every rule id that code, tests and docs cite is defined in docs/rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs" / "rules"
FILE_OF_PREFIX: dict[str, str] = dict(
    re.findall(r"^\| ([A-Z]+) \|.*\| \[([a-z.]+)\]\(\2\) \|$", (RULES / "README.md").read_text(), re.MULTILINE)
)
DEFINITION = re.compile(r"^\| ([A-Z]+)-(\d+) \| (.+) \|$", re.MULTILINE)
ID = rf"({'|'.join(FILE_OF_PREFIX)})-(\d+)"
CITATION = re.compile(rf"(?<![\w-]){ID}(?: to {ID})?(?![\w-])")

Rule = tuple[str, int]


def defined_in(document: Path) -> list[Rule]:
    return [(prefix, int(number)) for prefix, number, _ in DEFINITION.findall(document.read_text())]


def cited_in(text: str) -> Iterator[Rule]:
    """Yields the ids in the text, and those that its ranges imply."""
    for prefix, first, last_prefix, last in CITATION.findall(text):
        end = int(last or first)
        yield from ((prefix, number) for number in range(int(first), end + 1))
        if last_prefix not in {"", prefix}:
            raise ValueError(f"the range {prefix}-{first} to {last_prefix}-{last} has two prefixes")


def citing_files() -> list[Path]:
    files = [file for folder in ("src", "tests", "docs") for file in (ROOT / folder).rglob("*") if file.suffix in {".py", ".md"}]
    return [file for file in files if file != Path(__file__) and RULES not in file.parents]


DEFINED = {document.name: defined_in(document) for document in sorted(RULES.glob("*.md"))}
ALL_DEFINED = [rule for rules in DEFINED.values() for rule in rules]


def test_every_cited_rule_is_defined() -> None:
    cited = {rule: file for file in citing_files() for rule in cited_in(file.read_text())}
    assert len(cited) > 100, "the citations are no longer found"
    assert not {f"{prefix}-{number}": str(file) for (prefix, number), file in cited.items() if (prefix, number) not in ALL_DEFINED}


def test_no_rule_is_defined_twice() -> None:
    assert not [rule for rule, times in Counter(ALL_DEFINED).items() if times > 1]


def test_the_rules_of_a_prefix_are_numbered_from_one_in_the_file_that_the_readme_names() -> None:
    found: dict[str, str] = {}
    for name, rules in DEFINED.items():
        for prefix, group in groupby(rules, key=lambda rule: rule[0]):
            numbers = [number for _, number in group]
            assert numbers == list(range(1, len(numbers) + 1)), prefix
            found[prefix] = name
    assert found == FILE_OF_PREFIX


@pytest.mark.parametrize("document", [RULES / name for name in DEFINED if name != "README.md"], ids=lambda document: document.stem)
def test_every_row_of_a_table_is_a_definition(document: Path) -> None:
    lines = document.read_text().splitlines()
    rows = [line for line in lines if line.startswith("|") and line not in {"| id | rule |", "|---|---|"}]
    assert len(rows) == len(defined_in(document))
    assert all(row.count("|") == 3 for row in rows)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Deletes pods. (PG-5)", [("PG", 5)]),
        ("by PV-4, PV-8", [("PV", 4), ("PV", 8)]),
        ("RS-1 to RS-3", [("RS", 1), ("RS", 2), ("RS", 3)]),
        ("CRC-32, P-256, ns-1, UTF-8, PG-5x", []),
    ],
)
def test_citations_are_found(text: str, rules: list[Rule]) -> None:
    assert list(cited_in(text)) == rules


def test_a_range_has_one_prefix() -> None:
    with pytest.raises(ValueError, match="two prefixes"):
        list(cited_in("RS-1 to DEP-3"))
