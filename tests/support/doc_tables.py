"""The tables of the documentation, for tests that hold the program to them."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def table(document: str, first_heading: str) -> list[list[str]]:
    """The rows, cell by cell, of the table whose first column is headed so."""
    lines = iter((DOCS / document).read_text().splitlines())
    for line in lines:
        if _cells(line)[:1] == [first_heading]:
            break
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    assert rows, f"{document} has no table headed {first_heading!r}"
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
