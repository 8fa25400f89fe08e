"""Every row of the threat table has a test, and every such test has a row. The table about tenants names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from support.doc_tables import read_table


def rows() -> list[str]:
    return [row[0] for row in read_table("security.md", "threat")]


def attacked() -> set[str]:
    sources = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    return {result.upper() for result in re.findall(r"^async def test_(t\d+)_", sources, re.MULTILINE)}


def test_threat_table_matches_the_tests() -> None:
    assert rows() == [f"T{number}" for number in range(1, len(rows()) + 1)]
    assert attacked() == {*rows()}


CITED = re.compile(r"`(?P<file>[\w/]+\.py)`: (?P<names>`test_\w+`(?:, `test_\w+`)*)")
TESTS = Path(__file__).parents[1]


def test_threats_by_tenants_are_numbered_and_name_tests() -> None:
    table = read_table("security.md", "tenant threat")
    assert [row[0] for row in table] == [f"TT{number}" for number in range(1, len(table) + 1)]
    assert all(CITED.search(row[3]) for row in table)


def test_tests_that_the_table_about_tenants_names_exist() -> None:
    cited = [found for row in read_table("security.md", "tenant threat") for found in CITED.finditer(row[3])]
    files = {found["file"]: (TESTS / found["file"]).read_text() for found in cited}
    missing = [
        (found["file"], name)
        for found in cited
        for name in re.findall(r"test_\w+(?=`)", found["names"])
        if f"def {name}(" not in files[found["file"]]
    ]
    assert not missing
