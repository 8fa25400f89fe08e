"""Validation of metadata on create and on update: the fields and reasons of the errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import metadata, names
from probate.api.field_errors import FieldError

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
OLD = {
    "name": "x",
    "namespace": "n",
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "generation": 2,
}


def causes(field_errors: list[FieldError]) -> list[tuple[str, str]]:
    return [(error.field.removeprefix("metadata."), error.reason.removeprefix("FieldValue")) for error in field_errors]


def create_causes(*, is_namespaced: bool = True, is_custom: bool = False, **meta: Any) -> list[tuple[str, str]]:
    given = {"name": "x", **({"namespace": "n"} if is_namespaced else {}), **meta}
    rule = names.validate_dns_subdomain
    return causes(metadata.validate_create(given, is_namespaced=is_namespaced, name_rule=rule, is_custom=is_custom))


def update_causes(**meta: Any) -> list[tuple[str, str]]:
    return causes(metadata.validate_update({**OLD, **meta}, OLD))


def test_valid_metadata_has_no_field_errors() -> None:
    meta: dict[str, Any] = {"labels": {"app.kubernetes.io/name": "A_1", "a": ""}, "annotations": {"EXAMPLE.com/x": "any thing"}}
    assert create_causes(**meta, finalizers=["example.com/hold", "orphan"], ownerReferences=[OWNER]) == []
    assert create_causes(is_namespaced=False) == []
    assert update_causes() == []


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"name": ""}, [("name", "Required")]),
        ({"name": None}, [("name", "Required")]),
        ({"name": "UPPER"}, [("name", "Invalid")]),
        ({"name": "A" * 300}, [("name", "Invalid"), ("name", "Invalid")]),
        ({"name": "", "generateName": "AA-"}, [("generateName", "Invalid"), ("name", "Required")]),
        ({"namespace": ""}, [("namespace", "Required")]),
        ({"namespace": "a.b"}, [("namespace", "Invalid")]),
        ({"generation": -1}, [("generation", "Invalid")]),
        ({"labels": {"a b": "c"}}, [("labels", "Invalid")]),
        ({"labels": {"a": "b c", "": "x"}}, [("labels", "Invalid"), ("labels", "Invalid")]),
        ({"labels": {"a": "-" * 64}}, [("labels", "Invalid"), ("labels", "Invalid")]),
        ({"annotations": {"a/b/c": ""}}, [("annotations", "Invalid")]),
        ({"annotations": {"a": "x" * 256 * 1024}}, [("annotations", "TooLong")]),
        ({"finalizers": ["example.com/a", "kubernetes"]}, []),
        ({"finalizers": ["hold"]}, [("finalizers[0]", "Invalid")]),
        (
            {"finalizers": ["example.com/a", "a b"]},
            [("finalizers", "Invalid"), ("finalizers[1]", "Invalid")],
        ),
        ({"finalizers": ["example.com/a b"]}, [("finalizers", "Invalid")]),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, [("finalizers", "Invalid")]),
        ({"ownerReferences": [{**OWNER, "uid": ""}]}, [("ownerReferences.uid", "Invalid")]),
        ({"ownerReferences": [{**OWNER, "kind": ""}]}, [("ownerReferences.kind", "Invalid")]),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod"}]},
            [("ownerReferences.name", "Invalid"), ("ownerReferences.uid", "Invalid")],
        ),
        ({"ownerReferences": [{**OWNER, "kind": "Event"}]}, [("ownerReferences", "Invalid")]),
        ({"ownerReferences": [{**OWNER, "apiVersion": "events.k8s.io/v1", "kind": "Event"}]}, []),
        ({"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "controller": True}]}, [("ownerReferences", "Invalid")]),
        ({"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "controller": False}]}, []),
    ],
)
def test_field_errors_on_create(meta: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert create_causes(**meta) == expected


@pytest.mark.parametrize("api_version", ["", "/", "g/", "a/b/c"])
def test_an_owner_reference_must_have_a_version(api_version: str) -> None:
    assert create_causes(ownerReferences=[{**OWNER, "apiVersion": api_version}]) == [("ownerReferences.apiVersion", "Invalid")]


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert create_causes(is_namespaced=False, namespace="n") == [("namespace", "Forbidden")]


def test_custom_resources_may_have_unqualified_finalizers() -> None:
    assert create_causes(is_custom=True, finalizers=["hold"]) == []
    assert create_causes(is_custom=True, finalizers=["a b"]) == [("finalizers", "Invalid")]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"name": "y"}, [("name", "Invalid")]),
        ({"namespace": "m"}, [("namespace", "Invalid")]),
        ({"uid": "v"}, [("uid", "Invalid")]),
        ({"creationTimestamp": None}, [("creationTimestamp", "Invalid")]),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, [("deletionTimestamp", "Invalid")]),
        ({"deletionGracePeriodSeconds": 0}, [("deletionGracePeriodSeconds", "Invalid")]),
        ({"resourceVersion": ""}, [("resourceVersion", "Invalid")]),
        ({"generation": 1}, [("generation", "Invalid")]),
        ({"generation": 3, "labels": {"a": "b"}, "finalizers": ["a.b/c"], "ownerReferences": [OWNER]}, []),
        ({"finalizers": ["example.com/a b"]}, [("finalizers", "Invalid")]),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, [("finalizers", "Invalid")]),
    ],
)
def test_field_errors_on_update(meta: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert update_causes(**meta) == expected


def test_finalizers_can_only_be_removed_while_the_object_is_being_deleted() -> None:
    deleting = {
        **OLD,
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["a.b/c", "a.b/d"],
    }
    assert metadata.validate_update({**deleting, "finalizers": ["a.b/d"]}, deleting) == []
    assert metadata.validate_update({**deleting, "finalizers": ["a.b/d", "a.b/c"], "labels": {"x": "y"}}, deleting) == []
    added = metadata.validate_update({**deleting, "finalizers": ["a.b/c", "a.b/new"]}, deleting)
    assert causes(added) == [("finalizers", "Forbidden")]


def test_some_kinds_require_a_resource_version() -> None:
    assert metadata.allows_unconditional_update("", "ConfigMap")
    assert not metadata.allows_unconditional_update("coordination.k8s.io", "Lease")
    assert not metadata.allows_unconditional_update("admissionregistration.k8s.io", "ValidatingWebhookConfiguration")


_TEXT = st.text(max_size=5) | st.none()
_META = st.fixed_dictionaries(
    {},
    optional={
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "uid": _TEXT,
        "resourceVersion": _TEXT,
        "generation": st.integers() | st.none(),
        "labels": st.dictionaries(st.text(max_size=5), _TEXT) | st.none(),
        "annotations": st.dictionaries(st.text(max_size=5), _TEXT) | st.none(),
        "finalizers": st.lists(st.text(max_size=5)) | st.none(),
        "ownerReferences": st.lists(st.dictionaries(st.sampled_from(list(OWNER)), _TEXT)) | st.none(),
        "deletionTimestamp": _TEXT,
    },
)


@given(_META, _META, st.booleans())
def test_metadata_of_the_right_types_never_raises(new: dict[str, Any], old: dict[str, Any], flag: bool) -> None:
    for error in [
        *metadata.validate_create(new, is_namespaced=flag, name_rule=names.validate_dns_label, is_custom=flag),
        *metadata.validate_update(new, old, is_custom=flag),
    ]:
        assert error.field.startswith("metadata.")
