"""Every row of the table of threats has tests, and every such test has a row."""

from __future__ import annotations

import re
from pathlib import Path

from support.doc_tables import table


def rows() -> list[str]:
    return [row[0] for row in table("security.md", "threat")]


def attacked() -> set[str]:
    sources = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    return {found.upper() for found in re.findall(r"^async def test_(t\d+)_", sources, re.MULTILINE)}


def test_every_threat_has_its_test_and_every_test_its_threat() -> None:
    assert rows() == [f"T{number}" for number in range(1, len(rows()) + 1)]
    assert attacked() == {*rows()}
