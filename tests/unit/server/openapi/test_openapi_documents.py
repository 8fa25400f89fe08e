from __future__ import annotations

import hashlib
import json
from typing import Any

from probate.api.catalog import Catalog, Resource, Subresource
from probate.kinds.builtin import catalog as builtin_catalog
from probate.server.openapi import protobuf
from probate.server.openapi.openapi_documents import Documents

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
SCALE = Subresource("scale", "Scale", ("get", "patch", "update"), "autoscaling", "v1")
WIDGETS = Resource(
    "example.com", "v1", "widgets", "Widget", "widget", is_namespaced=True, verbs=VERBS, subresources=(SCALE,), is_custom=True
)
WIDGETS_CRD: dict[str, Any] = {
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget", "listKind": "Widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer", "nullable": True}}}},
            }
        ],
    }
}


def documents(*crds: dict[str, Any]) -> Documents:
    catalog = Catalog([*builtin_catalog.load(), *([WIDGETS] if crds else [])])
    return Documents(catalog, builtin_catalog.definitions(), crds, version="v1.37.0")


def test_the_same_content_has_the_same_etag_and_other_content_another() -> None:
    one, same, other = documents(), documents(), documents(WIDGETS_CRD)
    assert one.v2_protobuf == same.v2_protobuf
    assert one.v3_index == same.v3_index
    assert one.v2_protobuf.etag != other.v2_protobuf.etag
    assert one.v2_json.etag != other.v2_json.etag
    assert one.v3_index.etag != other.v3_index.etag


def test_a_custom_kind_changes_only_the_documents_it_is_in() -> None:
    before, after = (json.loads(one.v3_index.body)["paths"] for one in (documents(), documents(WIDGETS_CRD)))
    assert set(after) - set(before) == {"apis/example.com", "apis/example.com/v1"}
    assert all(after[name] == before[name] for name in before)


def test_the_index_has_the_hash_of_each_document() -> None:
    made = documents()
    for name, where in json.loads(made.v3_index.body)["paths"].items():
        document = made.v3(name)
        assert document is not None
        assert where["serverRelativeURL"] == f"/openapi/v3/{name}?hash={hashlib.sha256(document.body).hexdigest().upper()}"
        assert document.etag == f'"{document.hash}"'


def test_a_document_is_made_once() -> None:
    made = documents()
    assert made.v3("api/v1") is made.v3("api/v1")
    assert made.v2_protobuf is made.v2_protobuf


def test_there_is_no_document_of_what_is_not_served() -> None:
    assert documents().v3("apis/example.com/v1") is None


def test_both_forms_of_version_2_say_their_type() -> None:
    made = documents()
    assert made.v2_json.content_type == "application/json"
    assert made.v2_protobuf.content_type == protobuf.CONTENT_TYPE


def test_custom_kinds_are_in_version_2_with_their_lists_and_operations() -> None:
    document = json.loads(documents(WIDGETS_CRD).v2_json.body)
    assert document["definitions"]["com.example.v1.Widget"]["properties"]["size"] == {}
    operations = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
    assert operations["patch"]["x-kubernetes-group-version-kind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert "application/strategic-merge-patch+json" not in operations["patch"]["consumes"]
    listed = document["paths"]["/apis/example.com/v1/widgets"]["get"]["responses"]["200"]["schema"]
    assert listed == {"$ref": "#/definitions/com.example.v1.Widgets"}


def test_custom_kinds_have_a_version_3_document_that_stands_alone() -> None:
    made = documents(WIDGETS_CRD).v3("apis/example.com/v1")
    assert made is not None
    schemas = json.loads(made.body)["components"]["schemas"]
    assert schemas["com.example.v1.Widget"]["properties"]["size"] == {"type": "integer", "nullable": True}
    metadata = schemas["com.example.v1.Widget"]["properties"]["metadata"]
    assert metadata["allOf"] == [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    assert {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.api.autoscaling.v1.Scale"} <= set(schemas)
    assert "io.k8s.api.core.v1.Pod" not in schemas


def test_a_custom_kind_without_its_definition_leaves_the_rest_readable() -> None:
    made = Documents(Catalog([*builtin_catalog.load(), WIDGETS]), builtin_catalog.definitions(), version="v1")
    assert "io.k8s.api.core.v1.Pod" in json.loads(made.v2_json.body)["definitions"]
    assert made.v2_protobuf.body
