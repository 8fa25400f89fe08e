"""The cells of every built-in resource but pods, which have a file of their own. The objects are in tests/data/table-cells.json."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from probate.kinds import conversion, tables
from probate.kinds.builtin import catalog

NOW = 1767312000.0  # 2026-01-02T00:00:00Z
DATA = pathlib.Path(__file__).parents[3] / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "table-cells.json").read_text())
RECORDED: dict[str, Any] = json.loads((DATA / "table-columns.json").read_text())


def resource(key: str) -> tuple[str, str, str]:
    plural, version, *group = key.split(".", 2)
    return group[0] if group else "", version, plural


def as_stored(key: str, object_: dict[str, Any]) -> dict[str, Any]:
    found = catalog.load().find(*resource(key))
    return object_ if found is None or found.storage_gvk is None else conversion.to_stored(found.group_version_kind, object_)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_an_object_shows_as_kubectl_shows_it(case: dict[str, Any]) -> None:
    cells = tables.cells(*resource(case["resource"]), object_=as_stored(case["resource"], case["object"]), now=NOW)
    assert cells == case["cells"]
    assert [type(one) for one in cells] == [type(one) for one in case["cells"]]
    assert len(cells) == len(tables.columns(*resource(case["resource"])))


def test_every_listable_resource_has_a_case() -> None:
    assert set(RECORDED) - {case["resource"] for case in CASES} == {"pods.v1", "podtemplates.v1"}
