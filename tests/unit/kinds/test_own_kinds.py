"""The built-in kinds that Kubernetes does not have."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.api.names import name_rule
from probate.api.objects import Object
from probate.kinds import defaults, strategy, tables, validation
from probate.kinds.builtin import catalog, own_kinds
from probate.kinds.protobuf import encode, field_numbers

TENANT = GroupVersionKind("tenant.kubezoo.io", "v1alpha1", "Tenant")


def tenant(**fields: Any) -> Object:
    return {"metadata": {"name": "111111"}, **fields}


def test_every_field_of_every_type_has_a_tag() -> None:
    for name, definition in own_kinds.definitions().items():
        tagged = {field.name for field in field_numbers.parse(name, own_kinds.tags()[name])}
        assert tagged == definition["properties"].keys() - {"apiVersion", "kind"}, name


def test_their_groups_and_definitions_are_not_kubernetes() -> None:
    for resource in catalog.load():
        assert resource.is_own == (resource.group in own_kinds.groups())
        if resource.is_own:
            name = catalog.definition_name(resource.group, resource.version, resource.kind) or ""
            assert name.startswith(".".join(reversed(resource.group.split("."))))


def test_they_have_no_protobuf_encoding() -> None:
    own = [resource for resource in catalog.load() if resource.is_own]
    assert own
    for resource in own:
        assert not resource.has_protobuf
        assert encode.encode({"apiVersion": str(resource.group_version), "kind": resource.kind}) is None


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"metadata": {"labels": {}}}, {"metadata": {}, "spec": {}, "status": {}}),
        (
            {"metadata": {}, "spec": {"id": 0, "preventDeletion": False, "quota": {"hard": {}}, "forceFinalizers": []}},
            {"metadata": {}, "spec": {"quota": {}}, "status": {}},
        ),
        (
            {"metadata": {}, "spec": None, "status": {"objects": 0, "conditions": [], "waitingFor": ""}},
            {"metadata": {}, "spec": {}, "status": {"objects": 0}},
        ),
    ],
)
def test_empty_fields_of_a_tenant(given: Object, stored: Object) -> None:
    object_ = copy.deepcopy(given)
    defaults.apply(TENANT, object_)
    assert object_ == stored


def test_a_new_tenant_is_pending_and_held_by_its_finalizer() -> None:
    new = tenant(status={"phase": "Active", "objects": 3})
    strategy.create(TENANT, new, uid="u", now="2026-01-01T00:00:00Z")
    assert new["metadata"] == {"name": "111111", "generation": 1, "finalizers": ["kubezoo.io/tenant"]}
    assert new["status"] == {"phase": "Pending"}


@pytest.mark.parametrize("name", ["111111", "abcdef", "a-b--c", "0-0-00", "sys-em"])
def test_ids_that_a_tenant_can_have(name: str) -> None:
    assert name_rule("tenant.kubezoo.io", "Tenant")(name) == []


LENGTH = "tenant ID must be exactly 6 characters"
CHARACTERS = "tenant ID must contain only alphanumeric characters or -, and must not start with a -"
PLATFORM = "tenant ID must not be system or start with kube-: names of the platform begin like this"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("11111", LENGTH),
        ("1111111", LENGTH),
        ("-11111", CHARACTERS),
        ("11111A", CHARACTERS),
        ("11.111", CHARACTERS),
        ("11111\n", CHARACTERS),
        ("11111é", CHARACTERS),
        ("11111-", "tenant ID must not end with a -"),
        ("system", PLATFORM),
        ("kube-a", PLATFORM),
    ],
)
def test_ids_that_no_tenant_can_have(name: str, problem: str) -> None:
    assert name_rule("tenant.kubezoo.io", "Tenant")(name) == [problem]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"metadata": {"name": "111111", "generateName": "11111"}}, "metadata.generateName"),
        ({"metadata": {"ownerReferences": [{}]}, "spec": {"preventDeletion": True}}, "spec.preventDeletion"),
        ({"spec": {"quota": {"hard": {"pods": "-1"}}}}, "spec.quota.hard[pods]"),
        ({"spec": {"quota": {"hard": {"a b": "1"}}}}, "spec.quota.hard[a b]"),
        ({"spec": {"forceFinalizers": ["a b"]}}, "spec.forceFinalizers[0]"),
        ({"spec": {"forceFinalizers": ["a.com/b", "kubezoo.io/tenant"]}}, "spec.forceFinalizers[1]"),
        ({"spec": {"forceFinalizers": ["foregroundDeletion"]}}, "spec.forceFinalizers[0]"),
    ],
)
def test_invalid_fields_of_a_tenant(fields: Object, where: str) -> None:
    assert [str(problem.field) for problem in validation.create(TENANT, tenant() | fields)] == [where]


def test_a_valid_tenant() -> None:
    spec = {"id": 1, "quota": {"hard": {"pods": "10", "requests.cpu": "2"}}, "forceFinalizers": ["example.com/x"]}
    assert validation.create(TENANT, tenant(spec=spec)) == []


CONDITION = {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
ROW = {"group": "", "resource": "pods", "count": 1}


@pytest.mark.parametrize(
    ("status", "where"),
    [
        ({"phase": "Active", "conditions": [CONDITION], "remaining": [ROW, {**ROW, "group": "a.com"}]}, []),
        ({"phase": "Online"}, ["status.phase"]),
        ({"phase": "Terminating"}, ["status.phase"]),
        ({"objects": -1}, ["status.objects"]),
        ({"conditions": [CONDITION, CONDITION]}, ["status.conditions[1].type"]),
        ({"remaining": [ROW, {**ROW, "count": -1}]}, ["status.remaining[1]", "status.remaining[1].count"]),
    ],
)
def test_the_status_of_a_tenant(status: Object, where: list[str]) -> None:
    problems = validation.status(TENANT, tenant(status=status), tenant())
    assert [str(problem.field) for problem in problems] == where


def test_a_tenant_that_is_being_deleted_keeps_its_phase() -> None:
    deleted = {"metadata": {"name": "111111", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    [problem] = validation.status(TENANT, {**deleted, "status": {"phase": "Active"}}, deleted)
    assert str(problem.field) == "status.phase"
    assert validation.status(TENANT, {**deleted, "status": {"phase": "Terminating"}}, deleted) == []


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        ({}, ["<none>", "<none>", "<none>", "<none>"]),
        ({"phase": "Pending"}, ["Pending", "<none>", "<none>", "<none>"]),
        ({"phase": "Active", "objects": 12}, ["Active", "12", "<none>", "<none>"]),
        (
            {
                "phase": "Terminating",
                "objects": 3,
                "remaining": [{"count": 1}, {"count": 2}],
                "waitingFor": "finalizer a.com/x (3)",
            },
            ["Terminating", "3", "3", "finalizer a.com/x (3)"],
        ),
        ({"phase": "Terminating", "objects": 0}, ["Terminating", "0", "0", "<none>"]),
    ],
)
def test_columns_of_a_tenant(status: Object, cells: list[str]) -> None:
    shown = tables.cells("tenant.kubezoo.io", "v1alpha1", "tenants", object_=tenant(status=status), now=0)
    assert shown == ["111111", *cells, "<unknown>", "<none>"]
    names = [column.name for column in tables.columns("tenant.kubezoo.io", "v1alpha1", "tenants")]
    assert names == ["Name", "Phase", "Objects", "Remaining", "Waiting-For", "Age", "Ready"]


@pytest.mark.parametrize(
    ("ready", "cell"),
    [
        ({"status": "True", "reason": "Provisioned"}, "True"),
        ({"status": "False", "reason": "Terminating"}, "False (Terminating)"),
        ({"status": "False"}, "False"),
    ],
)
def test_wide_column_of_a_tenant(ready: Object, cell: str) -> None:
    conditions = [{"type": "Other", "status": "Unknown"}, {"type": "Ready", **ready}]
    one = tenant(status={"phase": "Active", "conditions": conditions})
    assert tables.cells("tenant.kubezoo.io", "v1alpha1", "tenants", object_=one, now=0)[-1] == cell
    assert [column.priority for column in tables.columns("tenant.kubezoo.io", "v1alpha1", "tenants")] == [0] * 6 + [1]
