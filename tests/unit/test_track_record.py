"""Every test that docs/track-record.md cites exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.doc_tables import read_table

TESTS = Path(__file__).parents[1]
ROWS = read_table("track-record.md", "symptom")


def citations() -> Iterator[tuple[str, str]]:
    """Yields the file of each citation, and the test in it, or "" if the whole file is meant."""
    previous = ""
    for row in ROWS:
        for citation in re.findall(r"`([^`]+)`", row[3]):
            file, _, name = citation.partition("::")
            previous = previous if file == "…" else file
            yield previous, name.split("[")[0]


def test_every_row_has_four_cells() -> None:
    assert {len(row) for row in ROWS} == {4}


def test_every_cited_file_exists() -> None:
    assert not [file for file, _ in citations() if not (TESTS / file).is_file()]


def test_every_cited_test_exists() -> None:
    assert len([*citations()]) > 100, "the citations are no longer found"
    for file, name in citations():
        pattern = re.escape(name).replace("…", ".*")
        assert re.search(rf"^ *(async )?def {pattern}\(", (TESTS / file).read_text(), re.MULTILINE) or not name, f"{file}::{name}"
