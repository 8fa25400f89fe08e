"""The resources that a CRD serves."""

from __future__ import annotations

from typing import Any

from probate.api.crds import crd_conditions
from probate.api.crds.resources import (
    VERBS,
    ScalePaths,
    deprecation_warning,
    printer_columns,
    scale_paths,
    selectable_fields,
    served_resources,
    version_sort_key,
)

SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}


def version(name: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}, **fields}


def new_crd(*versions: dict[str, Any]) -> dict[str, Any]:
    names = {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
        "shortNames": ["th"],
        "categories": ["all"],
    }
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions)}
    crd: dict[str, Any] = {"metadata": {"name": "things.example.com"}, "spec": spec}
    crd["status"] = crd_conditions.compute_status(crd, [crd], "2024-01-01T00:00:00Z")
    return crd


def test_each_served_version_is_a_resource_and_the_preferred_one_is_first() -> None:
    crd = new_crd(version("v1beta1"), version("v1"), version("v2", served=False), version("v10"))
    assert [resource.version for resource in served_resources(crd)] == ["v10", "v1", "v1beta1"]


def test_fields_of_a_resource() -> None:
    (resource,) = served_resources(new_crd(version("v1", subresources={"status": {}, "scale": SCALE})))
    assert (resource.group, resource.plural, resource.kind, resource.singular) == ("example.com", "things", "Thing", "thing")
    assert (resource.short_names, resource.categories, resource.is_namespaced) == (("th",), ("all",), True)
    assert (resource.verbs, resource.is_custom) == (VERBS, True)
    parts = [
        (subresource.name, subresource.group, subresource.version, subresource.kind, subresource.verbs)
        for subresource in resource.subresources
    ]
    verbs = ("get", "patch", "update")
    assert parts == [("status", "example.com", "v1", "Thing", verbs), ("scale", "autoscaling", "v1", "Scale", verbs)]


def test_each_version_has_its_own_schema_and_parses_it_once() -> None:
    first, second = served_resources(new_crd(version("v1"), version("v1beta1")))
    assert set(first.load_schema().properties) == {"v1"}
    assert set(second.load_schema().properties) == {"v1beta1"}
    assert first.load_schema() is first.load_schema()


def test_a_crd_serves_nothing_before_it_is_established() -> None:
    crd = new_crd(version("v1"))
    del crd["status"]
    assert served_resources(crd) == []


def test_a_terminating_crd_has_no_create_verb() -> None:
    crd = new_crd(version("v1"))
    crd["status"] = crd_conditions.mark_terminating(
        crd["status"], reason=crd_conditions.DELETION_PENDING, message="soon", now="2024-01-01T00:00:00Z"
    )
    (resource,) = served_resources(crd)
    assert set(VERBS) - set(resource.verbs) == {"create"}


def test_the_order_of_versions() -> None:
    names = ["foo10", "v1alpha1", "v12alpha1", "v3beta1", "v1", "v10", "v11alpha2", "foo1", "v11beta2", "v2", "v10beta3"]
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10"]
    assert sorted(names, key=version_sort_key) == ordered


def test_scale_columns_selectable_fields_and_deprecation_of_a_version() -> None:
    column = {"name": "N", "type": "integer", "jsonPath": ".spec.n"}
    full_version = version(
        "v1", subresources={"scale": SCALE}, additionalPrinterColumns=[column], selectableFields=[{"jsonPath": ".spec.c"}]
    )
    crd = new_crd(
        full_version, version("v1beta1", deprecated=True), version("v1beta2", deprecated=True, deprecationWarning="use v1")
    )
    assert scale_paths(crd, "v1") == ScalePaths(".spec.n", ".status.n", "")
    assert scale_paths(crd, "v1beta1") is None
    assert printer_columns(crd, "v1") == [column]
    assert [each["name"] for each in printer_columns(crd, "v1beta1")] == ["Age"]
    assert selectable_fields(crd, "v1") == ["spec.c"]
    assert deprecation_warning(crd, "v1") == ""
    assert deprecation_warning(crd, "v1beta1") == "example.com/v1beta1 Thing is deprecated"
    assert deprecation_warning(crd, "v1beta2") == "use v1"
