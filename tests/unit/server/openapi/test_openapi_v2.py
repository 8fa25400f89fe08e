from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from probate.api.catalog import Catalog, Resource, Subresource
from probate.kinds.builtin import catalog
from probate.server.openapi import v2
from probate.server.openapi.definitions import Definitions, references

METHODS = {"get", "put", "post", "delete", "patch"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return v2.document(catalog.load(), Definitions(catalog.definitions()), version="v1.37.0")


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        yield from ((path, method, one) for method, one in item.items() if method in METHODS)


def names(document: dict[str, Any], parameters: list[dict[str, Any]]) -> set[str]:
    """The names of parameters, of those that are references, too."""
    whole = [document["parameters"][one["$ref"].removeprefix("#/parameters/")] if "$ref" in one else one for one in parameters]
    return {one["name"] for one in whole}


def test_the_document_says_what_it_is(document: dict[str, Any]) -> None:
    assert document["swagger"] == "2.0"
    assert document["info"] == {"title": "Kubernetes", "version": "v1.37.0"}


def test_every_kind_that_is_served_is_found_by_its_group_version_and_kind(document: dict[str, Any]) -> None:
    found = [
        (one["group"], one["version"], one["kind"])
        for definition in document["definitions"].values()
        for one in definition.get("x-kubernetes-group-version-kind", ())
    ]
    served = {(one.group, one.version, one.kind) for one in catalog.load()}
    assert served <= set(found)
    assert len(found) == len(set(found))


def test_all_references_lead_somewhere(document: dict[str, Any]) -> None:
    referred = {one for schema in document["definitions"].values() for one in references(schema)}
    for _, _, operation in operations(document):
        answers = [one["schema"] for one in operation["responses"].values() if "schema" in one]
        bodies = [one["schema"] for one in operation["parameters"] if "schema" in one]
        referred |= {one["$ref"] for one in answers + bodies if "$ref" in one}
    assert {one.removeprefix("#/definitions/") for one in referred} <= set(document["definitions"])


def test_definitions_that_nothing_needs_are_left_out() -> None:
    pods = Resource("", "v1", "pods", "Pod", "pod", is_namespaced=True, verbs=("get",))
    made = v2.document(Catalog([pods]), Definitions(catalog.definitions()), version="v1")["definitions"]
    assert "io.k8s.api.core.v1.Container" in made
    assert "io.k8s.api.core.v1.Service" not in made
    assert "io.k8s.api.core.v1.PodList" not in made


def test_a_namespaced_resource_has_its_paths(document: dict[str, Any]) -> None:
    root = "/apis/apps/v1"
    actions = {
        path: {method: one["x-kubernetes-action"]} for path, method, one in operations(document) if path == f"{root}/deployments"
    }
    assert actions == {f"{root}/deployments": {"get": "list"}}
    for path, expected in {
        "deployments": {"get": "list", "post": "post", "delete": "deletecollection"},
        "deployments/{name}": {"get": "get", "put": "put", "patch": "patch", "delete": "delete"},
        "deployments/{name}/status": {"get": "get", "put": "put", "patch": "patch"},
        "deployments/{name}/scale": {"get": "get", "put": "put", "patch": "patch"},
    }.items():
        item = document["paths"][f"{root}/namespaces/{{namespace}}/{path}"]
        assert {method: one["x-kubernetes-action"] for method, one in item.items() if method in METHODS} == expected


def test_a_cluster_wide_resource_has_one_collection(document: dict[str, Any]) -> None:
    assert {path for path in document["paths"] if path.endswith("/nodes")} == {"/api/v1/nodes"}


def test_what_a_subresource_is_sent_is_the_kind_of_its_operations(document: dict[str, Any]) -> None:
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    eviction = document["paths"][f"{pod}/eviction"]["post"]
    assert eviction["x-kubernetes-group-version-kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert eviction["parameters"][0]["schema"] == {"$ref": "#/definitions/io.k8s.api.policy.v1.Eviction"}
    binding = document["paths"][f"{pod}/binding"]["post"]
    assert binding["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Binding"}


def test_what_is_passed_through_has_no_object(document: dict[str, Any]) -> None:
    pods = Resource(
        group="",
        version="v1",
        plural="pods",
        kind="Pod",
        singular="pod",
        is_namespaced=True,
        verbs=("get",),
        subresources=(Subresource("proxy", "PodProxyOptions", ("create", "get")), Subresource("log", "Pod", ("get",))),
    )
    paths = v2.document(Catalog([pods]), Definitions(catalog.definitions()), version="v1")["paths"]
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    assert {paths[f"{pod}/proxy{rest}"]["post"]["x-kubernetes-action"] for rest in ("", "/{path}")} == {"connect"}
    assert paths[f"{pod}/proxy"]["get"]["responses"]["200"]["schema"] == {"type": "string"}
    assert paths[f"{pod}/log"]["get"]["responses"]["200"]["schema"] == {"type": "string"}
    assert "tailLines" in names(document, paths[f"{pod}/log"]["get"]["parameters"])


def test_each_operation_has_an_id_of_its_own(document: dict[str, Any]) -> None:
    ids = [one["operationId"] for _, _, one in operations(document)]
    assert len(ids) == len(set(ids))
    assert {
        "listCoreV1NamespacedPod",
        "listCoreV1PodForAllNamespaces",
        "createRbacAuthorizationV1ClusterRole",
        "replaceAppsV1NamespacedDeploymentScale",
        "deleteCoreV1CollectionNamespacedPod",
        "readCoreV1NamespaceStatus",
        "getAppsV1APIResources",
    } <= set(ids)


def test_every_placeholder_of_a_path_is_a_parameter(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        placeholders = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        assert names(document, item.get("parameters", [])) - {"pretty"} == placeholders


def test_field_validation_and_dry_run_stand_in_every_write_itself(document: dict[str, Any]) -> None:
    writes = [
        one
        for _, method, one in operations(document)
        if method in {"post", "put", "patch"} and one["x-kubernetes-action"] != "connect"
    ]
    assert writes
    for operation in writes:
        inline = {one["name"] for one in operation["parameters"] if one.get("in") == "query"}
        assert inline == {"dryRun", "fieldValidation"}


def test_patches_are_taken_in_each_form(document: dict[str, Any]) -> None:
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert patch["consumes"] == [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ]
    assert {"fieldManager", "force"} <= names(document, patch["parameters"])


def test_deletions_take_options_but_need_none(document: dict[str, Any]) -> None:
    body = document["paths"]["/api/v1/nodes/{name}"]["delete"]["parameters"][0]
    assert body["schema"]["$ref"].endswith(".DeleteOptions")
    assert "required" not in body


def test_quantities_and_int_or_string_are_texts(document: dict[str, Any]) -> None:
    definitions = document["definitions"]
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    int_or_string = definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert (int_or_string["type"], int_or_string["format"]) == ("string", "int-or-string")
    assert not any("oneOf" in one for one in definitions.values())
