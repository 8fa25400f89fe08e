"""Discovery: what Kubernetes answers for the built-in kinds, and that the old documents and the new ones say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.catalog import Catalog, Resource, Subresource
from probate.kinds.builtin import catalog as builtin_catalog
from probate.server.discovery import groups as discovery_groups

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "discovery.json").read_text())

WIDGETS = Resource(
    group="example.com",
    version="v1",
    plural="widgets",
    kind="Widget",
    singular="widget",
    is_namespaced=True,
    verbs=("delete", "get", "list"),
    short_names=("wg",),
    categories=("all",),
    subresources=(
        Subresource("scale", "Scale", ("get", "patch", "update"), "autoscaling", "v1"),
        Subresource("status", "Widget", ("get", "patch", "update")),
    ),
    is_custom=True,
)


def aggregated(catalog: Catalog) -> dict[tuple[str, str, str], dict[str, Any]]:
    """All rows of the aggregated documents, by group, version and resource."""
    return {
        (group["metadata"].get("name", ""), version["version"], row["resource"]): row
        for document in (discovery_groups.aggregated_core(catalog), discovery_groups.aggregated_groups(catalog))
        for group in document["items"]
        for version in group["versions"]
        for row in version["resources"]
    }


def legacy(catalog: Catalog) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The same rows, put together by following the old documents as kubectl does."""
    core = [("", one) for one in discovery_groups.api_versions(catalog, "127.0.0.1:8001")["versions"]]
    named = [(one["name"], two["version"]) for one in discovery_groups.api_group_list(catalog)["groups"] for two in one["versions"]]
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for group, version in core + named:
        document = discovery_groups.api_resource_list(catalog, group, version)
        assert document is not None
        assert document["groupVersion"] == (f"{group}/{version}" if group else version)
        for row in document["resources"]:
            plural, _, part = row["name"].partition("/")
            if part:
                found[group, version, plural].setdefault("subresources", []).append(subresource_of(part, row))
            else:
                found[group, version, plural] = resource_of(row)
    return found


def subresource_of(name: str, row: dict[str, Any]) -> dict[str, Any]:
    kind = {"group": row.get("group", ""), "version": row.get("version", ""), "kind": row["kind"]}
    return {"subresource": name, "responseKind": kind, "verbs": row["verbs"]}


def resource_of(row: dict[str, Any]) -> dict[str, Any]:
    made = {
        "resource": row["name"],
        "responseKind": {"group": row.get("group", ""), "version": row.get("version", ""), "kind": row["kind"]},
        "scope": "Namespaced" if row["namespaced"] else "Cluster",
        "singularResource": row["singularName"],
        "verbs": row["verbs"],
    }
    return made | {key: row[key] for key in ("shortNames", "categories") if key in row}


@pytest.mark.parametrize("want", RECORDED, ids=lambda row: f"{row['resource']}.{row['version']}.{row['group']}")
def test_a_resource_is_shown_as_kubernetes_shows_it(want: dict[str, Any]) -> None:
    row = aggregated(builtin_catalog.load())[want["group"], want["version"], want["resource"]]
    parts = [{"name": one["subresource"], **one["responseKind"], "verbs": one["verbs"]} for one in row.get("subresources", [])]
    assert row["responseKind"] == {"group": want["responseGroup"], "version": want["responseVersion"], "kind": want["kind"]}
    assert (row["scope"], row["verbs"], row["singularResource"]) == (want["scope"], want["verbs"], want["singular"])
    assert row.get("shortNames", []) == want.get("shortNames", [])
    assert row.get("categories", []) == want.get("categories", [])
    assert parts == want["subresources"]


def test_resources_come_in_the_order_of_kubernetes() -> None:
    recorded = [(row["group"], row["version"], row["resource"]) for row in RECORDED]
    shown = list(aggregated(builtin_catalog.load()))
    assert [place for place in shown if place in recorded] == recorded


def test_the_old_documents_say_what_the_new_ones_say() -> None:
    assert legacy(builtin_catalog.load()) == aggregated(builtin_catalog.load())


names = st.sampled_from(["", "apps", "a.example.com", "b.example.com"])
verbs = st.lists(st.sampled_from(["create", "get", "list", "watch"]), min_size=1, unique=True).map(tuple)
parts = st.builds(Subresource, st.sampled_from(["status", "scale"]), st.just("Scale"), verbs, names, st.sampled_from(["v1", "v2"]))
resources = st.builds(
    Resource,
    group=names,
    version=st.sampled_from(["v1", "v2", "v1beta1"]),
    plural=st.sampled_from(["widgets", "gadgets"]),
    kind=st.just("Widget"),
    singular=st.just("widget"),
    is_namespaced=st.booleans(),
    verbs=verbs,
    short_names=st.sampled_from([(), ("wg",)]),
    categories=st.sampled_from([(), ("all",)]),
    subresources=st.lists(parts, unique_by=lambda one: one.name).map(tuple),
)


@given(st.lists(resources, unique_by=lambda one: (one.group, one.version, one.plural)))
def test_old_and_new_documents_agree_on_any_catalog(rows: list[Resource]) -> None:
    catalog = Catalog(rows)
    shown = aggregated(catalog)
    assert legacy(catalog) == shown
    assert shown.keys() == {(one.group, one.version, one.plural) for one in rows}


def test_a_group_is_the_same_alone_and_among_all() -> None:
    catalog = builtin_catalog.load()
    groups = discovery_groups.api_group_list(catalog)["groups"]
    assert [one["name"] for one in groups] == [name for name in catalog.groups() if name]
    for one in groups:
        assert discovery_groups.api_group(catalog, one["name"]) == {"kind": "APIGroup", "apiVersion": "v1", **one}


def test_the_preferred_version_is_the_first() -> None:
    found = discovery_groups.api_group(builtin_catalog.load(), "autoscaling")
    assert found is not None
    assert found["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [one["version"] for one in found["versions"]] == ["v2", "v1"]


@pytest.mark.parametrize("group", ["", "nobody.example.com"])
def test_there_is_no_document_for_the_core_group_or_one_that_is_not_served(group: str) -> None:
    assert discovery_groups.api_group(builtin_catalog.load(), group) is None


def test_there_is_no_document_for_a_version_that_is_not_served() -> None:
    assert discovery_groups.api_resource_list(builtin_catalog.load(), "apps", "v1beta1") is None


def test_the_core_versions_come_with_the_servers_address() -> None:
    assert discovery_groups.api_versions(builtin_catalog.load(), "127.0.0.1:8001") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:8001"}],
    }


@pytest.mark.parametrize("make", [discovery_groups.aggregated_core, discovery_groups.aggregated_groups])
@pytest.mark.parametrize("version", discovery_groups.AGGREGATED_VERSIONS)
def test_both_versions_of_the_aggregated_document_differ_in_name_only(make: Callable[..., dict[str, Any]], version: str) -> None:
    document = make(builtin_catalog.load(), version)
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}")
    assert document["items"] == make(builtin_catalog.load())["items"]
    assert f";v={version};" in discovery_groups.aggregated_media_type(version)


def test_subresources_of_another_group_name_it_in_the_old_document() -> None:
    document = discovery_groups.api_resource_list(builtin_catalog.load(), "", "v1")
    assert document is not None
    rows = {row["name"]: row for row in document["resources"]}
    assert (rows["pods/eviction"]["group"], rows["pods/eviction"]["version"]) == ("policy", "v1")
    assert rows["pods/status"].keys() == {"name", "singularName", "namespaced", "kind", "verbs"}


def test_a_custom_resource_is_shown_with_its_group_and_version() -> None:
    row = aggregated(Catalog([*builtin_catalog.load(), WIDGETS]))["example.com", "v1", "widgets"]
    assert row["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    kinds = {one["subresource"]: one["responseKind"] for one in row["subresources"]}
    assert kinds["scale"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert kinds["status"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
