"""The Table document, and the columns of every built-in resource."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from probate.api.printers import custom_columns
from probate.kinds import tables

NOW = 1767312000.0  # 2026-01-02T00:00:00Z
DATA = pathlib.Path(__file__).parents[3] / "data" / "table-columns.json"
RECORDED: dict[str, list[dict[str, Any]]] = json.loads(DATA.read_text())
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "data": {"a": "1"},
}
POD = {"metadata": {"name": "done"}, "status": {"phase": "Succeeded"}}


def resource(key: str) -> tuple[str, str, str]:
    plural, version, *group = key.split(".", 2)
    return group[0] if group else "", version, plural


@pytest.mark.parametrize("key", RECORDED)
def test_columns_are_those_that_kubernetes_has(key: str) -> None:
    documents = [one.document() for one in tables.columns(*resource(key))]
    shown = [{field: one[field] for field in ("format", "name", "priority", "type") if one[field] != ""} for one in documents]
    assert shown == RECORDED[key]


@pytest.mark.parametrize("key", RECORDED)
def test_every_column_has_a_description_and_a_cell(key: str) -> None:
    columns = tables.columns(*resource(key))
    assert all(one.description for one in columns)
    assert len(tables.cells(*resource(key), object_={"metadata": {"name": "x"}}, now=NOW)) == len(columns)


def test_all_versions_of_a_resource_have_the_same_columns() -> None:
    assert tables.columns("resource.k8s.io", "v1beta1", "resourceclaims") == tables.columns(
        "resource.k8s.io", "v1", "resourceclaims"
    )


@pytest.mark.parametrize(
    "key", ["customresourcedefinitions.v1.apiextensions.k8s.io", "roles.v1.rbac.authorization.k8s.io", "new.v1.org"]
)
def test_a_resource_without_a_table_of_its_own_shows_name_and_creation(key: str) -> None:
    assert tables.cells(*resource(key), object_=CONFIG_MAP, now=NOW) == ["settings", "2026-01-01T00:00:00Z"]
    assert tables.cells(*resource(key), object_={}, now=NOW) == ["", "0001-01-01T00:00:00Z"]


def document(object_: dict[str, Any], plural: str = "configmaps", **options: Any) -> dict[str, Any]:
    printer = tables.printer("", "v1", plural)
    return tables.document(printer.columns, tables.rows(printer, [object_], now=NOW), **options)


def test_a_table_names_its_columns_and_has_a_row_for_each_object() -> None:
    made = document(CONFIG_MAP, resource_version="42")
    assert (made["kind"], made["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert made["metadata"] == {"resourceVersion": "42"}
    assert [one["name"] for one in made["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert set(made["columnDefinitions"][0]) == {"name", "type", "format", "description", "priority"}
    assert [one["cells"] for one in made["rows"]] == [["settings", 1, "24h"]]


def test_rows_hold_the_objects_metadata_unless_asked_otherwise() -> None:
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": CONFIG_MAP["metadata"]}
    assert document(CONFIG_MAP)["rows"][0]["object"] == partial
    assert document(CONFIG_MAP, include_object="Object")["rows"][0]["object"] == CONFIG_MAP
    assert document(CONFIG_MAP, include_object="None")["rows"][0]["object"] is None


def test_an_older_client_gets_the_older_version_throughout() -> None:
    made = document(CONFIG_MAP, version="v1beta1")
    assert made["apiVersion"] == made["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_table_of_a_list_page_has_a_continue_token() -> None:
    made = document(CONFIG_MAP, resource_version="7", continue_="token", remaining=3)
    assert made["metadata"] == {"resourceVersion": "7", "continue": "token", "remainingItemCount": 3}
    assert document(CONFIG_MAP, continue_="token", remaining=0)["metadata"]["remainingItemCount"] == 0


def test_later_events_of_a_watch_have_no_columns() -> None:
    printer = tables.printer("", "v1", "configmaps")
    made = tables.document(None, tables.rows(printer, [CONFIG_MAP], now=NOW))
    assert made["columnDefinitions"] is None
    assert len(made["rows"]) == 1


def test_only_rows_of_ended_pods_have_conditions() -> None:
    assert document(POD, "pods")["rows"][0]["conditions"][0]["reason"] == "Succeeded"
    assert "conditions" not in document(CONFIG_MAP)["rows"][0]


def test_rows_keep_the_order_of_the_list() -> None:
    objects = [{"metadata": {"name": name}} for name in "cab"]
    rows = tables.rows(tables.printer("", "v1", "configmaps"), objects, now=NOW)
    assert [one.cells[0] for one in rows] == ["c", "a", "b"]


def test_flow_schemas_are_in_the_order_in_which_they_are_tried() -> None:
    precedences = {"b": 100, "a": 100, "first": 1, "last": 9000}
    objects = [{"metadata": {"name": name}, "spec": {"matchingPrecedence": number}} for name, number in precedences.items()]
    rows = tables.rows(tables.printer("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"), objects, now=NOW)
    assert [one.cells[0] for one in rows] == ["first", "a", "b", "last"]


def test_custom_and_built_in_printers_make_the_same_kind_of_table() -> None:
    printer = custom_columns.printer([{"name": "A", "type": "string", "jsonPath": ".data.a"}])
    made = tables.document(printer.columns, tables.rows(printer, [CONFIG_MAP], now=NOW))
    assert made["rows"][0]["cells"] == ["settings", "1"]
