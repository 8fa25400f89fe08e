"""What the build finds in Kubernetes' packages for its own kinds, written by hand for Tenants: resource, definitions, Go tags.

`kinds.builtin.own_kinds` reads it. Names of definitions begin with the reversed group, like those of custom kinds.
"""

from __future__ import annotations

from typing import Any

from probate.api import tenants

_PACKAGE = "io.kubezoo.tenant.v1alpha1"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_OBJECT_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def _reference(name: str, description: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}", "description": description}


def _text(description: str, form: str = "") -> dict[str, Any]:
    return {"description": description, "type": "string", **({"format": form} if form else {})}


def _number(description: str, form: str) -> dict[str, Any]:
    return {"description": description, "format": form, "type": "integer"}


def _objects(name: str, description: str, *keys: str) -> dict[str, Any]:
    """Returns a list of objects that are identified by these keys."""
    items = {"$ref": f"#/definitions/{_PACKAGE}.{name}"}
    listed = {"x-kubernetes-list-map-keys": list(keys), "x-kubernetes-list-type": "map"}
    return {"description": description, "items": items, "type": "array", **listed}


def _kind(name: str, description: str, **properties: Any) -> dict[str, Any]:
    about = {
        "apiVersion": _text("The group and version of the API in which the object is written."),
        "kind": _text("The kind of the object."),
    }
    kinds = [{"group": tenants.GROUP, "kind": name, "version": tenants.VERSION}]
    return {
        "description": description,
        "properties": about | properties,
        "type": "object",
        "x-kubernetes-group-version-kind": kinds,
    }


def _part(description: str, *required: str, **properties: Any) -> dict[str, Any]:
    return {
        "description": description,
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "type": "object",
    }


_OBJECT_META = _reference(f"{_META}.ObjectMeta", "The object's metadata.")

RESOURCES: list[dict[str, Any]] = [
    {
        "group": tenants.GROUP,
        "version": tenants.VERSION,
        "plural": tenants.TENANTS.resource,
        "kind": tenants.KIND,
        "namespaced": False,
        "verbs": _OBJECT_VERBS,
        "subresources": [
            {"name": "kubeconfig", "kind": "TenantKubeconfig", "group": "", "version": "", "verbs": ["create"]},
            {"name": "status", "kind": tenants.KIND, "group": "", "version": "", "verbs": ["get", "patch", "update"]},
        ],
    }
]

DEFINITIONS: dict[str, dict[str, Any]] = {
    f"{_PACKAGE}.Tenant": _kind(
        "Tenant",
        "A cluster of its own for one team, on a server that it shares with others. The name of the Tenant is the tenant's ID.",
        metadata=_OBJECT_META,
        spec=_reference(f"{_PACKAGE}.TenantSpec", "What is wanted of the tenant."),
        status=_reference(f"{_PACKAGE}.TenantStatus", "The state of the tenant."),
    ),
    f"{_PACKAGE}.TenantList": _kind(
        "TenantList",
        "A list of Tenants.",
        items={"description": "The Tenants.", "items": {"$ref": f"#/definitions/{_PACKAGE}.Tenant"}, "type": "array"},
        metadata=_reference(f"{_META}.ListMeta", "The list's metadata."),
    )
    | {"required": ["items"]},
    f"{_PACKAGE}.TenantSpec": _part(
        "What is wanted of a tenant.",
        forceFinalizers={
            "description": "While the Tenant is being deleted, these finalizers are removed from all objects that it still has. "
            "Whatever waits for them is not done: name only finalizers that nobody handles any more.",
            "items": {"type": "string"},
            "type": "array",
            "x-kubernetes-list-type": "set",
        },
        id=_number("A number that is kept for clients of KubeZoo, and used for nothing.", "int32"),
        preventDeletion={"description": "Whether the deletion of the Tenant is refused.", "type": "boolean"},
        quota=_reference(f"{_PACKAGE}.TenantQuota", "What all objects of the tenant may use together."),
    ),
    f"{_PACKAGE}.TenantQuota": _part(
        "Limits of what a tenant may use.",
        hard={
            "additionalProperties": {"$ref": f"#/definitions/{_QUANTITY}"},
            "description": "The limit of each resource, as in a ResourceQuota.",
            "type": "object",
        },
    ),
    f"{_PACKAGE}.TenantQuotaStatus": _part(
        "How much of its quota a tenant uses.",
        hard={
            "additionalProperties": {"$ref": f"#/definitions/{_QUANTITY}"},
            "description": "The limits that are enforced.",
            "type": "object",
        },
        used={
            "additionalProperties": {"$ref": f"#/definitions/{_QUANTITY}"},
            "description": "What the objects of the tenant use of each.",
            "type": "object",
        },
    ),
    f"{_PACKAGE}.TenantStatus": _part(
        "The state of a tenant.",
        conditions={
            "description": "The conditions of the tenant. Those that say what holds its deletion begin with `Tenant`.",
            "items": {"$ref": f"#/definitions/{_META}.Condition"},
            "type": "array",
            "x-kubernetes-list-map-keys": ["type"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "type",
            "x-kubernetes-patch-strategy": "merge",
        },
        objects=_number("How many objects the tenant had when they were last counted.", "int64"),
        observedGeneration=_number("The generation of the Tenant that this status is about.", "int64"),
        quota=_reference(f"{_PACKAGE}.TenantQuotaStatus", "What all objects of the tenant use together."),
        phase=_text("Pending until the tenant can be used, then Active; Terminating from its deletion on."),
        remaining=_objects("TenantRemaining", "What a tenant that is being deleted still has, by resource.", "group", "resource"),
        waitingFor=_text("What the deletion of the tenant waits for now."),
    ),
    f"{_PACKAGE}.TenantRemaining": _part(
        "The objects of one resource that a tenant which is being deleted still has.",
        "group",
        "resource",
        "count",
        count=_number("How many objects there are.", "int64"),
        finalizers=_objects("TenantFinalizerCount", "The finalizers that hold them.", "name"),
        group=_text("The API group of the resource."),
        resource=_text("The name of the resource: pods."),
    ),
    f"{_PACKAGE}.TenantFinalizerCount": _part(
        "How many objects a finalizer holds.",
        "name",
        "count",
        count=_number("How many objects have the finalizer.", "int64"),
        name=_text("The finalizer."),
    ),
    f"{_PACKAGE}.TenantKubeconfig": _kind(
        "TenantKubeconfig",
        "A request for the credentials of a user of a tenant, and the answer. It is never stored.",
        metadata=_OBJECT_META,
        spec=_reference(f"{_PACKAGE}.TenantKubeconfigSpec", "Whose credentials are wanted."),
        status=_reference(f"{_PACKAGE}.TenantKubeconfigStatus", "The credentials."),
    ),
    f"{_PACKAGE}.TenantKubeconfigSpec": _part(
        "Whose credentials are wanted.",
        expirationSeconds=_number("For how many seconds the credentials are valid: 3600 by default, at most 86400.", "int64"),
        groups={
            "description": "The user's groups, as the tenant sees them. None of them may begin with `system:`.",
            "items": {"type": "string"},
            "type": "array",
            "x-kubernetes-list-type": "set",
        },
        user=_text("The user's name, as the tenant sees it: admin by default."),
    ),
    f"{_PACKAGE}.TenantKubeconfigStatus": _part(
        "Credentials of a user of a tenant.",
        expirationTimestamp=_reference(f"{_META}.Time", "Until when the credentials are valid."),
        kubeconfig=_text("A kubeconfig file with the credentials, as YAML."),
    ),
}

TAGS = {
    f"{_PACKAGE}.Tenant": "metadata spec status",
    f"{_PACKAGE}.TenantList": "metadata items",
    f"{_PACKAGE}.TenantSpec": "id? quota* preventDeletion? forceFinalizers?",
    f"{_PACKAGE}.TenantQuota": "hard?",
    f"{_PACKAGE}.TenantStatus": "phase? conditions? objects* remaining? waitingFor? observedGeneration? quota?",
    f"{_PACKAGE}.TenantQuotaStatus": "hard? used?",
    f"{_PACKAGE}.TenantRemaining": "group resource count finalizers?",
    f"{_PACKAGE}.TenantFinalizerCount": "name count",
    f"{_PACKAGE}.TenantKubeconfig": "metadata spec status",
    f"{_PACKAGE}.TenantKubeconfigSpec": "user? groups? expirationSeconds?",
    f"{_PACKAGE}.TenantKubeconfigStatus": "kubeconfig? expirationTimestamp?",
}
"""What becomes of empty fields, in the notation of `protobuf.field_numbers`. The kinds have no protobuf encoding."""
