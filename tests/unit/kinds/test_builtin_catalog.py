"""The built-in kinds: what the build wrote, what was added by hand, and the schemas made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from probate.api.catalog import Resource
from probate.api.schema.node import UNSET, Schema
from probate.api.schema.openapi import Schemas
from probate.kinds.builtin import catalog as builtin_catalog
from probate.kinds.builtin import kind_names
from probate.server.diagnostics import version_info

OBJECT_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def resource(name: str) -> Resource:
    return next(one for one in builtin_catalog.load() if str(one.group_resource) == name)


def field(kind: tuple[str, str, str], path: str) -> Schema:
    node = builtin_catalog.schema(*kind)
    for part in path.split("."):
        assert node is not None, path
        node = node.items if part == "[]" else node.values if part == "{}" else node.properties[part]
    assert node is not None, path
    return node


def nodes(root: Schema) -> Iterator[Schema]:
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += [one for one in (*node.properties.values(), node.items, node.values) if one is not None]


POD = ("", "v1", "Pod")
SERVICE = ("", "v1", "Service")
CRD = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


# The catalog.


def test_core_comes_first_and_a_groups_newest_version_first() -> None:
    catalog = builtin_catalog.load()
    assert catalog.groups()[0] == ""
    assert catalog.versions("autoscaling") == ["v2", "v1"]


def test_only_stable_versions_of_kubernetes_kinds_are_served() -> None:
    assert {one.version for one in builtin_catalog.load() if not re.fullmatch(r"v\d+", one.version) and not one.is_own} == set()


@pytest.mark.parametrize(
    "name",
    [
        "clustertrustbundles.certificates.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
    ],
)
def test_what_became_stable_in_1_37_is_served(name: str) -> None:
    assert resource(name).verbs == OBJECT_VERBS


def test_the_release_is_the_one_that_the_server_claims() -> None:
    major, minor, _ = builtin_catalog.version().split(".")
    assert (major, minor) == (version_info.KUBERNETES_MAJOR, version_info.KUBERNETES_MINOR)


def test_every_row_written_by_hand_is_of_a_resource_that_there_is() -> None:
    listed = [name for members in kind_names.CATEGORIES.values() for name in members]
    by_hand = {*kind_names.SHORT_NAMES, *kind_names.DISABLED_SUBRESOURCES, *kind_names.VERBS, *kind_names.CONNECTIONS, *listed}
    assert by_hand - {str(one.group_resource) for one in builtin_catalog.load()} == set()
    assert list(kind_names.GROUPS) == builtin_catalog.load().groups()


def test_subresources_are_in_the_order_of_their_names_and_there_once() -> None:
    for one in builtin_catalog.load():
        names = [part.name for part in one.subresources]
        assert names == sorted(set(names)), one.plural


def test_a_subresource_says_what_kind_is_sent_there() -> None:
    scale = resource("deployments.apps").subresource("scale")
    assert scale is not None
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")


def test_a_resource_is_found_by_its_path_and_by_its_kind() -> None:
    catalog = builtin_catalog.load()
    assert catalog.find("apps", "v1", "deployments") is catalog.find_kind("apps", "v1", "Deployment") is not None


# Definitions, as OpenAPI v2 has them.


def test_nothing_of_json_schema_is_left_in_the_definitions() -> None:
    def check(node: dict[str, Any], where: str) -> None:
        assert isinstance(node.get("type", ""), str), where
        assert node.keys().isdisjoint({"oneOf", "enum", "$defs"}), where
        for name, inner in node.get("properties", {}).items():
            check(inner, f"{where}.{name}")
        for key in node.keys() & {"items", "additionalProperties"}:
            check(node[key], where)

    for name, definition in builtin_catalog.definitions().items():
        check(definition, name)


def test_every_reference_leads_to_a_definition() -> None:
    def references(node: dict[str, Any]) -> Iterator[str]:
        if "$ref" in node:
            yield node["$ref"]
        inner = [*node.get("properties", {}).values(), *(node[key] for key in node.keys() & {"items", "additionalProperties"})]
        for one in inner:
            yield from references(one)

    definitions = builtin_catalog.definitions()
    used = {one for definition in definitions.values() for one in references(definition)}
    assert used - {f"#/definitions/{name}" for name in definitions} == set()


def test_a_property_called_ref_is_not_a_reference() -> None:
    assert field(CRD, "spec.versions.[].schema.openAPIV3Schema.$ref").type == "string"


def test_kinds_that_are_not_served_have_no_definitions() -> None:
    kinds = [name for name, one in builtin_catalog.definitions().items() if "x-kubernetes-group-version-kind" in one]
    assert [name for name in kinds if re.search(r"^io\.k8s\..*\.v\d+(alpha|beta)\d+\.", name)] == []


def test_definitions_have_descriptions() -> None:
    assert [name for name, one in builtin_catalog.definitions().items() if not one.get("description")] == []


@pytest.mark.parametrize("kind", [("", "v1", "PodList"), ("policy", "v1", "Eviction"), ("apps", "v1", "DeleteOptions")])
def test_lists_options_and_what_subresources_take_have_definitions_too(kind: tuple[str, str, str]) -> None:
    name = builtin_catalog.definition_name(*kind)
    assert name is not None
    group, api_version, of = kind
    expected = {"group": group, "version": api_version, "kind": of}
    assert expected in builtin_catalog.definitions()[name]["x-kubernetes-group-version-kind"]


def test_a_kind_that_is_not_there_has_no_schema() -> None:
    assert builtin_catalog.schema("apps", "v1", "Pod") is None


# Schemas.


@pytest.mark.parametrize("one", list(builtin_catalog.load()), ids=lambda one: f"{one.group_resource}/{one.version}")
def test_every_resource_has_a_schema_with_metadata(one: Resource) -> None:
    schema = one.load_schema()
    assert schema.type == "object"
    assert "metadata" in schema.properties
    assert {schema.properties["apiVersion"].type, schema.properties["kind"].type} == {"string"}


@pytest.mark.parametrize("one", list(builtin_catalog.load()), ids=lambda one: f"{one.group_resource}/{one.version}")
def test_every_node_says_what_it_is(one: Resource) -> None:
    for node in nodes(one.load_schema()):
        assert node.type or node.preserves_unknown_fields or node.is_int_or_string, node.name
        assert (node.type == "array") == (node.items is not None), node.name
        assert set(node.required) <= node.properties.keys(), node.name
        assert (node.list_type == "map") == bool(node.map_keys), node.name
        if node.list_type == "map" and node.items is not None:
            assert set(node.map_keys) <= node.items.properties.keys()


def test_a_schema_is_made_once() -> None:
    assert resource("pods").load_schema() is builtin_catalog.schema(*POD)


def test_list_types_and_merge_keys() -> None:
    containers = field(POD, "spec.containers")
    assert (containers.type, containers.list_type, containers.map_keys) == ("array", "map", ("name",))
    assert (containers.merge_key, containers.patch_strategies) == ("name", frozenset({"merge"}))
    assert field(POD, "metadata.finalizers").list_type == "set"
    assert field(POD, "spec.containers.[].command").list_type == "atomic"
    assert field(POD, "metadata.ownerReferences").merge_key == "uid"


def test_several_strategies_at_once() -> None:
    assert field(POD, "spec.volumes").patch_strategies == {"merge", "retainKeys"}


def test_a_reference_with_siblings_merges_them_with_its_target() -> None:
    strategy = field(("apps", "v1", "Deployment"), "spec.strategy")
    assert strategy.patch_strategies == {"retainKeys"}
    assert "rollingUpdate" in strategy.properties
    claim = ("", "v1", "PersistentVolume")
    assert field(claim, "spec.claimRef").map_type == "granular"
    assert field(POD, "spec.containers.[].env.[].valueFrom.fieldRef").map_type == "atomic"
    assert field(("", "v1", "Event"), "involvedObject").map_type == "atomic"


def test_maps_have_values_and_objects_have_fields() -> None:
    assert field(POD, "metadata.labels").is_map
    assert field(POD, "metadata.labels.{}").type == "string"
    assert not field(POD, "spec").is_map
    assert field(POD, "spec").required == ("containers",)
    assert field(("", "v1", "Secret"), "data.{}").format == "byte"


@pytest.mark.parametrize(
    ("path", "form"), [("spec.ports.[].targetPort", "int-or-string"), ("spec.ports.[].port", "int32"), ("spec.type", "")]
)
def test_formats_of_a_service(path: str, form: str) -> None:
    assert field(SERVICE, path).format == form


def test_ports_may_have_names() -> None:
    port = field(SERVICE, "spec.ports.[].targetPort")
    assert (port.type, port.is_int_or_string) == ("", True)


def test_quantities_are_texts_or_numbers() -> None:
    limit = field(POD, "spec.containers.[].resources.limits.{}")
    assert (limit.type, limit.format, limit.is_int_or_string) == ("", "quantity", True)


def test_time_and_micro_time_differ_in_their_definition_names() -> None:
    lease = ("coordination.k8s.io", "v1", "Lease")
    for node, name in [(field(POD, "metadata.creationTimestamp"), "Time"), (field(lease, "spec.renewTime"), "MicroTime")]:
        assert (node.type, node.format, node.name.rpartition(".")[2]) == ("string", "date-time", name)


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        (("apps", "v1", "ControllerRevision"), "data", ""),
        (CRD, "spec.versions.[].schema.openAPIV3Schema.default", ""),
        (CRD, "spec.versions.[].schema.openAPIV3Schema.items", ""),
        (POD, "metadata.managedFields.[].fieldsV1", "object"),
    ],
)
def test_values_without_a_shape_keep_all_that_is_in_them(kind: tuple[str, str, str], path: str, expected: str) -> None:
    node = field(kind, path)
    assert (node.type, node.preserves_unknown_fields) == (expected, True)


def test_a_schema_may_hold_itself() -> None:
    outer = field(CRD, "spec.versions.[].schema.openAPIV3Schema")
    inner = field(CRD, "spec.versions.[].schema.openAPIV3Schema.properties.{}.not.allOf.[]")
    assert inner.name == outer.name
    assert inner.properties is outer.properties


def test_a_reference_to_an_unfinished_definition_is_whole_in_the_end() -> None:
    tree = {"type": "array", "items": {"$ref": "#/definitions/Tree", "description": "A branch."}}
    root = Schemas({"Tree": tree}, defaults={}).schema("Tree")
    branch = root.items
    assert branch is not None
    assert (root.description, branch.description) == ("", "A branch.")
    assert branch.items is branch


def test_keys_of_list_items_have_their_defaults_and_nothing_else_has() -> None:
    assert field(SERVICE, "spec.ports.[].protocol").default == "TCP"
    assert field(POD, "spec.containers.[].ports.[].protocol").default == "TCP"
    assert field(("", "v1", "ReplicationController"), "spec.replicas").default == 1
    assert field(SERVICE, "spec.ports.[].name").default is UNSET
    assert field(("apps", "v1", "Deployment"), "spec.replicas").default is UNSET


def test_defaults_do_not_appear_in_definitions_for_openapi_v2() -> None:
    assert "default" not in builtin_catalog.definitions()["io.k8s.api.core.v1.ServicePort"]["properties"]["protocol"]
