from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from probate.kinds.builtin import catalog
from probate.server.openapi import sections, v3
from probate.server.openapi.definitions import Definitions, references

SECTIONS = sections.of_catalog(catalog.load())
KNOWN = Definitions(catalog.definitions())
COMPONENTS = "#/components/schemas/"


def document(name: str) -> dict[str, Any]:
    return v3.document(SECTIONS[name], KNOWN, version="v1.37.0")


def all_references(value: Any) -> Iterator[str]:
    """Every reference in paths, where nothing but a reference is called `$ref`."""
    if isinstance(value, dict):
        yield from (one for key, one in value.items() if key == "$ref")
        for one in value.values():
            yield from all_references(one)
    elif isinstance(value, list):
        for one in value:
            yield from all_references(one)


def test_the_index_leads_to_each_document_by_its_hash() -> None:
    assert v3.index({"apis/apps/v1": "AB12", "api/v1": "CD34"}) == {
        "paths": {
            "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=CD34"},
            "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=AB12"},
        }
    }


def test_there_is_a_section_for_every_group_and_version() -> None:
    versions = {f"apis/{one.group}/{one.version}" for one in catalog.load() if one.group}
    groups = {f"apis/{one.group}" for one in catalog.load() if one.group}
    assert set(SECTIONS) == versions | groups | {"api", "api/v1", "apis", "version"}
    assert list(SECTIONS) == sorted(SECTIONS)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_document_holds_what_it_refers_to_and_nothing_else(name: str) -> None:
    made = document(name)
    components = made["components"]["schemas"]
    from_paths = set(all_references(made["paths"]))
    reached, waiting = set(from_paths), list(from_paths)
    while waiting:
        inside = set(references(components[waiting.pop().removeprefix(COMPONENTS)]))
        waiting.extend(inside - reached)
        reached |= inside
    assert reached == {COMPONENTS + one for one in components}


@pytest.mark.parametrize("name", SECTIONS)
def test_all_paths_of_a_document_are_of_its_section(name: str) -> None:
    made = document(name)
    assert made["openapi"] == "3.0.0"
    assert made["info"] == {"title": "Kubernetes", "version": "v1.37.0"}
    assert f"/{name}/" in made["paths"]
    assert all(path.startswith(f"/{name}/") for path in made["paths"])


def test_a_reference_with_anything_beside_it_is_wrapped() -> None:
    spec = document("api/v1")["components"]["schemas"]["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": COMPONENTS + "io.k8s.api.core.v1.PodSpec"}]
    assert spec["description"]
    assert "$ref" not in spec
    assert v3.schema({"$ref": "#/definitions/a"}) == {"$ref": COMPONENTS + "a"}


def test_a_field_that_is_called_ref_is_a_field() -> None:
    schemas = document("apis/apiextensions.k8s.io/v1")["components"]["schemas"]
    fields = schemas["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]["properties"]
    assert fields["$ref"] == {"type": "string"}


def test_definitions_are_rewritten_not_changed() -> None:
    before = KNOWN.schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    document("api/v1")
    assert "default" not in before
    assert "$ref" in KNOWN.schemas["io.k8s.api.core.v1.Pod"]["properties"]["spec"]


def test_protocols_of_ports_have_their_default() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    for name in ("ContainerPort", "ServicePort"):
        assert schemas[f"io.k8s.api.core.v1.{name}"]["properties"]["protocol"]["default"] == "TCP"


def test_every_default_that_is_known_is_of_a_field_there_is() -> None:
    for name, fields in v3.DEFAULTS.items():
        assert set(fields) <= set(KNOWN.schemas[name]["properties"])


def test_quantities_and_int_or_string_are_one_of_two_types() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    quantity = schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert "type" not in quantity
    int_or_string = schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert int_or_string["oneOf"] == [{"type": "integer"}, {"type": "string"}]
    assert int_or_string["format"] == "int-or-string"


def test_operations_say_what_is_sent_and_answered() -> None:
    pods = document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods"]
    sent = {"schema": {"$ref": COMPONENTS + "io.k8s.api.core.v1.Pod"}}
    assert pods["post"]["requestBody"] == {"content": {"application/json": sent, "application/yaml": sent}, "required": True}
    assert set(pods["post"]["responses"]) == {"200", "201", "202", "401"}
    answered = pods["get"]["responses"]["200"]["content"]["application/json"]
    assert answered == {"schema": {"$ref": COMPONENTS + "io.k8s.api.core.v1.PodList"}}


def test_every_write_advertises_field_validation() -> None:
    for name in SECTIONS:
        for item in document(name)["paths"].values():
            for method in {"post", "put", "patch"} & set(item):
                operation = item[method]
                parameters = {one["name"] for one in operation.get("parameters", ())}
                assert "fieldValidation" in parameters or operation["x-kubernetes-action"] == "connect"
