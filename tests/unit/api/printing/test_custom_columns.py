"""Tables of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.printers import custom_columns
from probate.api.printers.columns import Column

NOW = 1767312000.0  # 2026-01-02T00:00:00Z
OBJECT: dict[str, Any] = {
    "metadata": {"name": "backup-1", "creationTimestamp": "2026-01-01T23:58:00Z"},
    "spec": {"size": 5, "ratio": 0.25, "whole": 4.0, "isPaused": False, "hosts": ["b", "a"], "limits": {"z": 1, "a": "<&>"}},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "last": "2026-01-01T21:30:00Z",
        "bad": "tomorrow",
        "nothing": None,
        "empty": "",
    },
}


def column(path: str, type_: str, **fields: Any) -> dict[str, Any]:
    return {"name": "Column", "type": type_, "jsonPath": path, **fields}


@pytest.mark.parametrize("none", [None, []])
def test_the_default_columns_are_name_and_age(none: list[dict[str, Any]] | None) -> None:
    assert [(column.name, column.type, column.format) for column in custom_columns.columns(none)] == [
        ("Name", "string", "name"),
        ("Age", "date", ""),
    ]
    assert custom_columns.cells(none, OBJECT, now=NOW) == ["backup-1", "2m"]


def test_the_columns_of_the_crd_follow_the_name() -> None:
    name, described, minimal = custom_columns.columns(
        [
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "description": "How far it is.", "priority": 1},
            {"name": "Size", "type": "integer", "format": "int32", "jsonPath": ".spec.size"},
        ]
    )
    assert (name.name, name.format) == ("Name", "name")
    assert described == Column(name="Phase", type="string", description="How far it is.", priority=1)
    assert (minimal.name, minimal.type, minimal.format, minimal.priority) == ("Size", "integer", "int32", 0)
    assert ".spec.size" in minimal.description


def test_columns_replace_age() -> None:
    assert [each.name for each in custom_columns.columns([column(".spec.size", "integer")])] == ["Name", "Column"]


@pytest.mark.parametrize(
    ("path", "type_", "cell"),
    [
        (".spec.size", "integer", 5),
        (".spec.ratio", "integer", 0),
        (".spec.isPaused", "integer", None),
        (".spec.hosts", "integer", None),
        (".spec.missing", "integer", None),
        (".spec.ratio", "number", 0.25),
        (".spec.whole", "number", 4),
        (".spec.size", "number", 5),
        (".spec.hosts[0]", "number", None),
        (".spec.isPaused", "boolean", False),
        (".spec.size", "boolean", None),
        (".spec.missing", "boolean", None),
        (".metadata.name", "string", "backup-1"),
        (".spec.size", "string", "5"),
        (".spec.ratio", "string", "0.25"),
        (".spec.whole", "string", "4"),
        (".spec.isPaused", "string", "false"),
        (".spec.hosts", "string", '["b","a"]'),
        (".spec.hosts[*]", "string", "b"),
        (".spec.limits", "string", '{"a":"\\u003c\\u0026\\u003e","z":1}'),
        ('.status.conditions[?(@.type=="Ready")].status', "string", "True"),
        ('.status.conditions[?(@.type=="Synced")].status', "string", None),
        (".spec.missing", "string", None),
        (".spec.hosts[9]", "string", None),
        (".status.nothing", "string", "<no value>"),
        (".status.nothing", "integer", None),
        (".status.last", "date", "150m"),
        (".status.bad", "date", "<invalid>"),
        (".status.empty", "date", "<unknown>"),
        (".status.missing", "date", None),
        (".spec.size", "date", None),
        (".spec.size", "colour", None),
    ],
)
def test_a_cell_is_the_value_in_the_type_of_the_column_or_null(path: str, type_: str, cell: object) -> None:
    value = custom_columns.cells([column(path, type_)], OBJECT, now=NOW)[1]
    assert value == cell
    assert type(value) is type(cell)


def test_columns_end_before_the_first_with_an_invalid_path() -> None:
    columns = [column(".spec.size", "integer"), column("spec[", "string"), column(".spec.size", "integer")]
    assert len(custom_columns.columns(columns)) == 2
    assert custom_columns.cells(columns, OBJECT, now=NOW) == ["backup-1", 5]


def test_a_printer_fills_many_objects() -> None:
    printer = custom_columns.printer([column(".spec.n", "integer")])
    rows = [printer.cells({"metadata": {"name": f"n{n}"}, "spec": {"n": n}}, NOW) for n in range(3)]
    assert rows == [["n0", 0], ["n1", 1], ["n2", 2]]
