"""Every row of the threat table has a test, and every such test has a row."""

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
