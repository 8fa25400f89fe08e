"""The keys and values that the state machine of tenants' views uses: few names, the same for all tenants and the platform."""

from __future__ import annotations

from typing import Any

import orjson

from probate.api import object_keys, tenants
from probate.api.catalog import Catalog, Resource
from probate.kinds.builtin import catalog

TENANTS = ("111111", "1a-b-c", "zebra1")
"""The last one sorts after the groups of the platform, the others before."""

CLASSES = "storageclasses.storage.k8s.io"
PRIORITIES = "priorityclasses.scheduling.k8s.io"
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
API_SERVICES = "apiservices.apiregistration.k8s.io"
OWN_KEYS = [
    "objects/pods/web/p",
    "objects/pods/web/q",
    "objects/pods/default/p",
    "objects/pods/111111-x/p",
    "objects/namespaces/-/web",
    "objects/namespaces/-/111111-x",
    "objects/jobs.batch/web/j",
    "objects/jobs.a.com/web/j",
    "objects/jobs.z.com/web/j",
    "objects/foos.a.com/-/x",
    "objects/bars.shared.io/web/b",
    "objects/persistentvolumeclaims/web/c",
    "objects/persistentvolumes/-/v",
    f"objects/{CLASSES}/-/own",
    f"objects/{CLASSES}/-/a",
    f"objects/{CRDS}/-/jobs.a.com",
    f"objects/{CRDS}/-/jobs.z.com",
    f"objects/{API_SERVICES}/-/v1.a.com",
]
"""What a tenant writes. Not the names of the platform: these are refused."""
PLATFORM_KEYS = [
    "objects/pods/default/p",
    "objects/namespaces/-/default",
    "objects/nodes/-/n1",
    "objects/bars.shared.io/default/b",
    f"objects/{CLASSES}/-/fast",
    f"objects/{CLASSES}/-/slow",
    f"objects/{PRIORITIES}/-/system-node-critical",
    f"objects/{CRDS}/-/plain.platform.io",
    f"objects/{API_SERVICES}/-/v1.apps",
    f"objects/{API_SERVICES}/-/v1.shared.io",
    f"objects/{API_SERVICES}/-/v1.platform.io",
    "objects/persistentvolumes/-/pvc-1",
    "objects/persistentvolumes/-/disk",
]
ALWAYS_SHARED = {PLATFORM_KEYS[2], PLATFORM_KEYS[6], PLATFORM_KEYS[8], PLATFORM_KEYS[9]}
SHARED_CRD_KEY = f"objects/{CRDS}/-/bars.shared.io"
SHARED_CRD = {
    "metadata": {"name": "bars.shared.io", "labels": {tenants.SHARED_LABEL: "true"}},
    "spec": {
        "group": "shared.io",
        "scope": "Namespaced",
        "names": {"plural": "bars", "kind": "Bar"},
        "versions": [{"name": "v1", "served": True}],
    },
}
OBJECT_RANGES = [
    "objects/",
    "objects/pods/",
    "objects/pods/web/",
    "objects/pods/default/",
    "objects/namespaces/",
    "objects/namespaces/-/",
    "objects/nodes/",
    "objects/jobs.batch/",
    "objects/jobs.a.com/",
    "objects/foos.a.com/",
    "objects/foos.a.com/-/",
    "objects/bars.shared.io/",
    "objects/persistentvolumes/",
    f"objects/{CLASSES}/",
    f"objects/{CLASSES}/-/",
    f"objects/{PRIORITIES}/-/",
    f"objects/{CRDS}/",
    f"objects/{API_SERVICES}/-/",
]
ENTRY_RANGES = ["owned/", "blocking/", "custom/", "custom/Job.z.com/", "custom/Bar.shared.io/", "since/", "since/2026/", "quota/"]
GUARDED_RANGES = ["objects/pods/", "objects/pods/web/", "objects/namespaces/-/", "objects/bars.shared.io/", "objects/jobs.a.com/"]


def _custom(group: str, plural: str, kind: str, *, is_namespaced: bool = True) -> Resource:
    return Resource(
        group=group,
        version="v1",
        plural=plural,
        kind=kind,
        singular=kind.lower(),
        is_namespaced=is_namespaced,
        verbs=(),
        is_custom=True,
    )


CATALOG = Catalog(
    [
        *catalog.load(),
        _custom("a.com", "jobs", "Job"),
        _custom("z.com", "jobs", "Job"),
        _custom("a.com", "foos", "Foo", is_namespaced=False),
        _custom("shared.io", "bars", "Bar"),
    ]
)
"""The kinds that each of the tenants is served."""


def value_of(key: str, number: int, labels: dict[str, str] | None = None) -> bytes:
    """Returns an object for a key, with references whose names differ between the views."""
    resource, namespace, name = object_keys.parse(key)
    metadata: dict[str, Any] = {"name": name, "labels": {"number": str(number), **(labels or {})}}
    owners = [("a.com/v1", "Foo"), ("z.com/v1", "Job"), ("shared.io/v1", "Bar")]
    if resource != "persistentvolumes":
        metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": "x", "uid": "u"} for version, kind in owners]
    if namespace:
        metadata["namespace"] = namespace
    object_: dict[str, Any] = {"metadata": metadata}
    if resource == "pods":
        object_["spec"] = {"priorityClassName": "own", "text": "111111-own"}
    if resource == "persistentvolumeclaims":
        object_["spec"] = {"storageClassName": "own", "volumeName": "v"}
    if resource == "persistentvolumes" and (owner := metadata["labels"].get(tenants.TENANT_LABEL)):
        object_["spec"] = {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": f"{owner}-web", "name": "c"}}
    if resource == CRDS:
        plural, _, group = name.partition(".")
        object_["spec"] = {"group": group, "names": {"plural": plural}}
    if resource.endswith(".com"):
        object_["apiVersion"] = "a.com/v1"
    return orjson.dumps(object_)


def entries_of(key: str, uid: str) -> list[str]:
    """Returns index entries of all families for an object."""
    namespace = key.split("/")[2]
    about = [f"owned/{uid}/{namespace}", f"blocking/{uid}/{namespace}", f"waiting/{uid}", "since/2026"]
    kinds = ["custom/Job.z.com", "custom/Bar.shared.io"] if "persistentvolumes" not in key else []  # those of its owners
    return [f"{each}/{key}" for each in [*about, *kinds]]
