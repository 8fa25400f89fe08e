"""The conversion to the physical view and back returns every object, and every key, that a tenant can write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api import object_keys
from probate.api.gvk import GroupKind, GroupResource, GroupVersion
from probate.kinds.builtin import catalog
from probate.tenants.view import key_conversion, object_conversion, reference_paths
from probate.tenants.view.name_converter import ToPhysical, ToTenant
from support.protobuf_objects import whole_objects
from support.tenant_platform import SamplePlatform

FOOS = GroupResource("a.com", "foos")
PLATFORM = SamplePlatform(
    {GroupResource("storage.k8s.io", "storageclasses"): frozenset({"standard"})}, {GroupKind("a.com", "Foo"): FOOS}
)
OUT, BACK = ToPhysical("111111-", PLATFORM), ToTenant("111111-", PLATFORM)

names = st.sampled_from(("x", "web", "standard", "111111-x", "111111-", "222222-y", "system:serviceaccount:web:sa", "*", "a.com"))
kinds = st.sampled_from(
    (
        {"apiVersion": "a.com/v1", "kind": "Foo"},
        {"apiVersion": "a.com/v1", "kind": "Bar"},
        {"apiVersion": "v1", "kind": "Namespace"},
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiGroup": "storage.k8s.io", "kind": "StorageClass"},
        {"apiGroup": "a.com", "kind": "Foo"},
        {"kind": "User"},
        {"kind": "Group"},
        {"kind": "ServiceAccount"},
        {"kind": "ClusterRole"},
        {},
    )
)
references = st.builds(
    lambda kind, rest: {**kind, **rest}, kinds, st.fixed_dictionaries({"name": names}, optional={"namespace": names, "uid": names})
)
selectors = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from(("kubernetes.io/metadata.name", "app")), names, min_size=1),
        "matchExpressions": st.lists(
            st.fixed_dictionaries(
                {"key": st.sampled_from(("kubernetes.io/metadata.name", "app")), "operator": st.just("In")},
                optional={"values": st.lists(names, max_size=2)},
            ),
            max_size=2,
        ),
    },
)
quota_keys = st.sampled_from(
    ("pods", "count/foos.a.com", "count/pods", "count/jobs.batch", "own.storageclass.storage.k8s.io/requests.storage")
)
leaves: dict[str, st.SearchStrategy[Any]] = {
    reference_paths.NAMESPACE_SELECTOR: selectors,
    reference_paths.QUOTA_KEYS: st.dictionaries(quota_keys, st.just("1"), max_size=3),
    reference_paths.PRIORITY_VALUES: st.fixed_dictionaries(
        {"scopeName": st.sampled_from(("PriorityClass", "Terminating"))}, optional={"values": st.lists(names, max_size=2)}
    ),
    reference_paths.FLOW_SUBJECT: st.fixed_dictionaries(
        {},
        optional={
            "user": st.fixed_dictionaries({"name": names}),
            "group": st.fixed_dictionaries({"name": names}),
            "serviceAccount": st.fixed_dictionaries({"name": names, "namespace": names}),
        },
    ),
}
for text in (reference_paths.NAMESPACE, reference_paths.GROUP, reference_paths.USER, reference_paths.USER_GROUP):
    leaves[text] = names
for mapping in (reference_paths.OBJECT, reference_paths.TYPED, reference_paths.SUBJECT, reference_paths.ROLE):
    leaves[mapping] = references
odd: st.SearchStrategy[Any] = st.one_of(st.none(), st.integers(), st.just([]), st.just(["x"]), st.just({}))
"""Values of other types than the schema has: old objects may have them."""


def object_of(reference: reference_paths.Reference) -> st.SearchStrategy[Any]:
    """An object with this one field."""
    target = reference.target
    value = names if isinstance(target, GroupResource) else leaves[target]
    for step in reversed(reference.path):
        value = st.lists(value, max_size=2) if step == "[]" else st.builds(lambda inner, step=step: {step: inner}, value | odd)
    return value


@pytest.mark.parametrize("resource", sorted(reference_paths.TABLE))
@given(data=st.data())
@settings(max_examples=30)
def test_references_return(resource: str, data: st.DataObject) -> None:
    reference = data.draw(st.sampled_from(reference_paths.references_of(resource)))
    returns(object_keys.parse_resource(resource), data.draw(object_of(reference)))


@given(whole_objects())
@settings(max_examples=200)
def test_any_object_of_a_built_in_kind_returns(object_: dict[str, Any]) -> None:
    group_version = GroupVersion.parse(object_["apiVersion"])
    resource = catalog.load().find_kind(*group_version, object_["kind"])
    assert resource is not None
    stored = {field: value for field, value in object_.items() if field not in {"apiVersion", "kind"}}
    returns(resource.group_resource, stored)


metadata = st.fixed_dictionaries(
    {"name": names},
    optional={
        "namespace": names,
        "generateName": names,
        "labels": st.dictionaries(st.sampled_from(("app", "kubernetes.io/metadata.name")), names, min_size=1),
        "ownerReferences": st.lists(references, min_size=1, max_size=2),
        "managedFields": st.lists(st.fixed_dictionaries({"apiVersion": st.just("a.com/v1"), "manager": names}), min_size=1),
    },
)


@given(metadata, st.sampled_from((FOOS, GroupResource("", "pods"), GroupResource("", "namespaces"))), st.dictionaries(names, names))
def test_metadata_of_custom_and_built_in_kinds_returns(
    metadata: dict[str, Any], resource: GroupResource, spec: dict[str, Any]
) -> None:
    version = {"apiVersion": "a.com/v1"} if resource == FOOS else {}
    returns(resource, {"metadata": metadata, "spec": spec, **version})


@given(
    st.sampled_from(("owned/u", "blocking/u", "waiting/u", "orphaning/u", "custom/Foo.a.com", "since/2026-01-01T00:00:00Z", "")),
    st.sampled_from(("foos.a.com", "pods", "deployments.apps", "customresourcedefinitions.apiextensions.k8s.io")),
    st.sampled_from(("-", "web", "111111-x")),
    st.sampled_from(("x", "foos.a.com", "111111-x")),
    st.integers(1, 4),
)
def test_keys_and_ranges_return(family: str, folder: str, namespace: str, name: str, segments: int) -> None:
    key = f"objects/{folder}/{namespace}/{name}"
    key = f"{family}/{key}" if family in {"", "waiting/u", "orphaning/u"} else f"{family}/{namespace}/{key}"
    key = key.removeprefix("/")
    beginning = "/".join(key.split("/")[:segments]) + "/"
    for text in (key, beginning):
        assert key_conversion.convert_key(BACK, key_conversion.convert_key(OUT, text)) == text


def returns(resource: GroupResource, object_: dict[str, Any]) -> None:
    before = copy.deepcopy(object_)
    physical = object_conversion.to_physical(OUT, resource, object_)
    assert object_ == before, "the conversion changed its argument"
    assert object_conversion.to_tenant(BACK, resource, physical) == without_empty_labels(before)


def without_empty_labels(object_: dict[str, Any]) -> dict[str, Any]:
    """Labels that are empty or null are the same as none: writes remove them before they are stored."""
    metadata = object_.get("metadata")
    if isinstance(metadata, dict) and not metadata.get("labels"):
        metadata.pop("labels", None)
    return object_
