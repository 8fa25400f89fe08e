"""Reads the tables of the documentation, for tests that compare the program with them."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def read_table(document: str, first_column: str) -> list[list[str]]:
    """Returns the rows, as lists of cells, of the table whose first column has this heading."""
    lines = iter((DOCS / document).read_text().splitlines())
    for line in lines:
        if _cells(line)[:1] == [first_column]:
            break
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    assert rows, f"{document} has no table with the first column {first_column!r}"
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
