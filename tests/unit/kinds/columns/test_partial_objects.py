"""Every stored object has a table row, even if it is incomplete or has an invalid value in a field that is not validated."""

from __future__ import annotations

import copy
import json
import pathlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.api.printers import custom_columns
from probate.kinds import tables

NOW = 1767312000.0  # 2026-01-02T00:00:00Z
DATA = pathlib.Path(__file__).parents[3] / "data"
CONTAINER = {
    "name": "c",
    "ready": True,
    "restartCount": 1,
    "state": {"terminated": {"exitCode": 1, "signal": 9, "reason": "Error"}, "waiting": {"reason": "X"}},
    "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}},
}
POD = {
    "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {
        "containers": [{"name": "c"}],
        "initContainers": [{"name": "c", "restartPolicy": "Always"}],
        "readinessGates": [{"conditionType": "Ready"}],
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True", "reason": "X"}, {"type": "Initialized", "status": "True"}],
        "podIPs": [{"ip": "10.0.0.1"}],
        "initContainerStatuses": [CONTAINER],
        "containerStatuses": [CONTAINER],
    },
}
CASES: list[dict[str, Any]] = json.loads((DATA / "table-cells.json").read_text())
OBJECTS: list[tuple[str, dict[str, Any]]] = [("pods.v1", POD), *((one["resource"], one["object"]) for one in CASES)]

LEAVES = st.none() | st.booleans() | st.integers(-2, 2**40) | st.floats(-2, 2) | st.sampled_from(["", "x", "Ready", "2026-01-01"])
ANYTHING = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(st.sampled_from(["name", "type", "x"]), LEAVES, max_size=2)


def resource(key: str) -> tuple[str, str, str]:
    plural, version, *group = key.split(".", 2)
    return group[0] if group else "", version, plural


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An object with something else, or nothing, somewhere in it."""
    key, original = draw(st.sampled_from(OBJECTS))
    object_ = copy.deepcopy(original)
    where: Any = object_
    while True:
        place = draw(st.sampled_from(range(len(where)) if isinstance(where, list) else list(where)))
        is_leaf = not isinstance(where[place], dict | list) or not where[place]
        if is_leaf or draw(st.integers(0, 3)) == 0:
            break
        where = where[place]
    if draw(st.booleans()):
        where[place] = draw(ANYTHING)
    else:
        del where[place]
    return key, object_


@given(damaged())
def test_a_damaged_object_still_has_a_row(found: tuple[str, dict[str, Any]]) -> None:
    key, object_ = found
    printer = tables.printer(*resource(key))
    (row,) = tables.rows(printer, [object_], now=NOW)
    assert len(row.cells) == len(printer.columns)
    assert all(isinstance(cell, str | int | float) for cell in row.cells)
    json.dumps(tables.document(printer.columns, [row]))


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "data", "roleRef"]), ANYTHING))
def test_an_object_of_hardly_anything_has_a_row_in_every_table(object_: dict[str, Any]) -> None:
    for key, _ in OBJECTS:
        printer = tables.printer(*resource(key))
        assert len(printer.cells(object_, NOW)) == len(printer.columns)


@given(st.sampled_from(["string", "integer", "number", "boolean", "date", ""]), ANYTHING)
def test_a_custom_cell_takes_any_value(type_: str, value: Any) -> None:
    columns = [{"name": "X", "type": type_, "jsonPath": ".spec.x"}]
    name, cell = custom_columns.cells(columns, {"metadata": {"name": "it"}, "spec": {"x": value}}, now=NOW)
    assert name == "it"
    assert cell is None or isinstance(cell, str | int | float)
