"""The names of a tenant's objects in the tenant's view and in the physical view, one vector each, in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupKind, GroupResource
from probate.tenants.view import object_conversion
from probate.tenants.view.key_conversion import convert_key
from probate.tenants.view.name_converter import ToPhysical, ToTenant
from support.tenant_platform import SamplePlatform

FOOS, BARS = GroupResource("a.com", "foos"), GroupResource("a.com", "bars")
STORAGE_CLASSES = GroupResource("storage.k8s.io", "storageclasses")
PLATFORM = SamplePlatform({STORAGE_CLASSES: frozenset({"standard"})}, {GroupKind("a.com", "Foo"): FOOS})
OUT, BACK = ToPhysical("111111-", PLATFORM), ToTenant("111111-", PLATFORM)
LABEL = {"kubezoo.io/tenant": "111111"}
CORE = ""


def rbac(plural: str) -> GroupResource:
    return GroupResource("rbac.authorization.k8s.io", plural)


VECTORS: list[tuple[str, GroupResource, dict[str, Any], dict[str, Any]]] = [
    (
        "a namespace",
        GroupResource(CORE, "namespaces"),
        {"metadata": {"name": "web", "labels": {"kubernetes.io/metadata.name": "web"}}},
        {"metadata": {"name": "111111-web", "labels": {"kubernetes.io/metadata.name": "111111-web", **LABEL}}},
    ),
    (
        "a generated name",
        GroupResource(CORE, "namespaces"),
        {"metadata": {"generateName": "t-"}},
        {"metadata": {"generateName": "111111-t-", "labels": LABEL}},
    ),
    (
        "a namespaced object",
        GroupResource(CORE, "pods"),
        {"metadata": {"name": "p", "namespace": "web"}},
        {"metadata": {"name": "p", "namespace": "111111-web", "labels": LABEL}},
    ),
    (
        "a name that looks prefixed",
        GroupResource(CORE, "persistentvolumes"),
        {"metadata": {"name": "111111-x"}},
        {"metadata": {"name": "111111-111111-x", "labels": LABEL}},
    ),
    (
        "a CRD",
        GroupResource("apiextensions.k8s.io", "customresourcedefinitions"),
        {"metadata": {"name": "foos.a.com"}, "spec": {"group": "a.com", "names": {"plural": "foos"}}},
        {
            "metadata": {"name": "foos.111111-a.com", "labels": LABEL},
            "spec": {"group": "111111-a.com", "names": {"plural": "foos"}},
        },
    ),
    (
        "a cluster-scoped custom resource",
        FOOS,
        {"metadata": {"name": "x"}, "spec": {"free": "111111-text"}, "apiVersion": "a.com/v1"},
        {"metadata": {"name": "111111-x", "labels": LABEL}, "spec": {"free": "111111-text"}, "apiVersion": "111111-a.com/v1"},
    ),
    (
        "owner references: of a custom kind, and of a built-in one",
        BARS,
        {
            "metadata": {
                "name": "y",
                "namespace": "web",
                "ownerReferences": [
                    {"apiVersion": "a.com/v1", "kind": "Foo", "name": "x", "uid": "u"},
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "v"},
                    {"apiVersion": "v1", "kind": "Namespace", "name": "web", "uid": "w"},
                ],
            }
        },
        {
            "metadata": {
                "name": "y",
                "namespace": "111111-web",
                "ownerReferences": [
                    {"apiVersion": "111111-a.com/v1", "kind": "Foo", "name": "111111-x", "uid": "u"},
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "v"},
                    {"apiVersion": "v1", "kind": "Namespace", "name": "111111-web", "uid": "w"},
                ],
                "labels": LABEL,
            }
        },
    ),
    (
        "subjects and a role",
        rbac("clusterrolebindings"),
        {
            "metadata": {"name": "b"},
            "subjects": [
                {"kind": "User", "name": "admin"},
                {"kind": "User", "name": "system:serviceaccount:web:sa"},
                {"kind": "ServiceAccount", "name": "sa", "namespace": "web"},
                {"kind": "Group", "name": "system:serviceaccounts:web"},
                {"kind": "Group", "name": "system:authenticated"},
            ],
            "roleRef": {"kind": "ClusterRole", "name": "view"},
        },
        {
            "metadata": {"name": "111111-b", "labels": LABEL},
            "subjects": [
                {"kind": "User", "name": "111111-admin"},
                {"kind": "User", "name": "system:serviceaccount:111111-web:sa"},
                {"kind": "ServiceAccount", "name": "sa", "namespace": "111111-web"},
                {"kind": "Group", "name": "system:serviceaccounts:111111-web"},
                {"kind": "Group", "name": "system:authenticated"},
            ],
            "roleRef": {"kind": "ClusterRole", "name": "111111-view"},
        },
    ),
    (
        "a role in a namespace",
        rbac("rolebindings"),
        {"metadata": {"name": "b", "namespace": "web"}, "roleRef": {"kind": "Role", "name": "editor"}},
        {"metadata": {"name": "b", "namespace": "111111-web", "labels": LABEL}, "roleRef": {"kind": "Role", "name": "editor"}},
    ),
    (
        "rules",
        rbac("clusterroles"),
        {"metadata": {"name": "r"}, "rules": [{"apiGroups": ["", "apps", "a.com", "*"], "resourceNames": ["x"]}]},
        {
            "metadata": {"name": "111111-r", "labels": LABEL},
            "rules": [{"apiGroups": ["", "apps", "111111-a.com", "*"], "resourceNames": ["x"]}],
        },
    ),
    (
        "an Event about a namespace; its message is the user's text",
        GroupResource(CORE, "events"),
        {
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Namespace", "name": "web", "apiVersion": "v1"},
            "message": "111111-web is here",
        },
        {
            "metadata": {"name": "e", "namespace": "111111-default", "labels": LABEL},
            "involvedObject": {"kind": "Namespace", "name": "111111-web", "apiVersion": "v1"},
            "message": "111111-web is here",
        },
    ),
    (
        "classes: one of the platform's, one of the tenant's",
        GroupResource(CORE, "persistentvolumeclaims"),
        {"metadata": {"name": "c", "namespace": "web"}, "spec": {"storageClassName": "standard", "volumeName": "v"}},
        {
            "metadata": {"name": "c", "namespace": "111111-web", "labels": LABEL},
            "spec": {"storageClassName": "standard", "volumeName": "111111-v"},
        },
    ),
    (
        "a claim of a volume",
        GroupResource(CORE, "persistentvolumes"),
        {
            "metadata": {"name": "v"},
            "spec": {"storageClassName": "own", "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "web", "name": "c"}},
        },
        {
            "metadata": {"name": "111111-v", "labels": LABEL},
            "spec": {
                "storageClassName": "111111-own",
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "111111-web", "name": "c"},
            },
        },
    ),
    (
        "the namespaces that a webhook is called for",
        GroupResource("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        {
            "metadata": {"name": "h"},
            "webhooks": [
                {
                    "clientConfig": {"service": {"namespace": "web", "name": "hook"}},
                    "namespaceSelector": {},
                    "rules": [{"apiGroups": ["a.com"]}],
                }
            ],
        },
        {
            "metadata": {"name": "111111-h", "labels": LABEL},
            "webhooks": [
                {
                    "clientConfig": {"service": {"namespace": "111111-web", "name": "hook"}},
                    "namespaceSelector": {"matchLabels": LABEL},
                    "rules": [{"apiGroups": ["111111-a.com"]}],
                }
            ],
        },
    ),
    (
        "the resources of a quota",
        GroupResource(CORE, "resourcequotas"),
        {
            "metadata": {"name": "q", "namespace": "web"},
            "spec": {"hard": {"pods": "1", "count/foos.a.com": "2", "own.storageclass.storage.k8s.io/requests.storage": "3"}},
        },
        {
            "metadata": {"name": "q", "namespace": "111111-web", "labels": LABEL},
            "spec": {
                "hard": {
                    "pods": "1",
                    "count/foos.111111-a.com": "2",
                    "111111-own.storageclass.storage.k8s.io/requests.storage": "3",
                }
            },
        },
    ),
]


@pytest.mark.parametrize(
    ("resource", "tenant", "physical"), [vector[1:] for vector in VECTORS], ids=[vector[0] for vector in VECTORS]
)
def test_an_object_has_these_names_in_both_views(resource: GroupResource, tenant: dict[str, Any], physical: dict[str, Any]) -> None:
    assert object_conversion.to_physical(OUT, resource, tenant) == physical
    assert object_conversion.to_tenant(BACK, resource, physical) == tenant


@pytest.mark.parametrize(
    ("tenant", "physical"),
    [
        ("objects/pods/web/p", "objects/pods/111111-web/p"),
        ("objects/pods/web/", "objects/pods/111111-web/"),
        ("objects/pods/", "objects/pods/"),
        ("objects/", "objects/"),
        ("objects/namespaces/-/web", "objects/namespaces/-/111111-web"),
        ("objects/storageclasses.storage.k8s.io/-/standard", "objects/storageclasses.storage.k8s.io/-/standard"),
        ("objects/storageclasses.storage.k8s.io/-/own", "objects/storageclasses.storage.k8s.io/-/111111-own"),
        ("objects/foos.a.com/-/x", "objects/foos.111111-a.com/-/111111-x"),
        ("objects/bars.a.com/web/y", "objects/bars.111111-a.com/111111-web/y"),
        (
            "objects/customresourcedefinitions.apiextensions.k8s.io/-/foos.a.com",
            "objects/customresourcedefinitions.apiextensions.k8s.io/-/foos.111111-a.com",
        ),
        ("owned/u/", "owned/u/"),
        ("owned/u/-/", "owned/u/-/"),
        ("owned/u/web/objects/pods/web/p", "owned/u/111111-web/objects/pods/111111-web/p"),
        ("custom/Foo.a.com/objects/pods/web/p", "custom/Foo.111111-a.com/objects/pods/111111-web/p"),
        ("waiting/u/objects/pods/web/p", "waiting/u/objects/pods/111111-web/p"),
        ("since/2026-01-01T00:00:00Z/objects/foos.a.com/-/x", "since/2026-01-01T00:00:00Z/objects/foos.111111-a.com/-/111111-x"),
        ("quota/web", "quota/111111-web"),
        ("ip/10.96.0.1", "ip/10.96.0.1"),
    ],
)
def test_a_key_has_these_forms_in_both_views(tenant: str, physical: str) -> None:
    assert convert_key(OUT, tenant) == physical
    assert convert_key(BACK, physical) == tenant
