"""Facts about built-in kinds that no published package contains, written by hand as Kubernetes has them.

Resources are named like `deployments.apps`, as `GroupResource` writes them. `catalog` merges these rows with the output of the
build. A row for a resource that does not exist fails a test, so no row outlives its kind.
"""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Subresource
from probate.api.gvk import GroupVersionKind

# In the order of discovery; a group that is not listed comes after these, sorted by name.
GROUPS = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "tenant.kubezoo.io",
)

DEPRECATIONS = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""The deprecation warning of every response about these resources."""

SHORT_NAMES = {
    "certificatesigningrequests.certificates.k8s.io": ("csr",),
    "componentstatuses": ("cs",),
    "configmaps": ("cm",),
    "cronjobs.batch": ("cj",),
    "customresourcedefinitions.apiextensions.k8s.io": ("crd", "crds"),
    "daemonsets.apps": ("ds",),
    "deployments.apps": ("deploy",),
    "endpoints": ("ep",),
    "events": ("ev",),
    "events.events.k8s.io": ("ev",),
    "horizontalpodautoscalers.autoscaling": ("hpa",),
    "ingresses.networking.k8s.io": ("ing",),
    "ipaddresses.networking.k8s.io": ("ip",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "networkpolicies.networking.k8s.io": ("netpol",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "poddisruptionbudgets.policy": ("pdb",),
    "pods": ("po",),
    "priorityclasses.scheduling.k8s.io": ("pc",),
    "replicasets.apps": ("rs",),
    "replicationcontrollers": ("rc",),
    "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "statefulsets.apps": ("sts",),
    "storageclasses.storage.k8s.io": ("sc",),
    "volumeattributesclasses.storage.k8s.io": ("vac",),
}

CATEGORIES = {
    "all": (
        "cronjobs.batch",
        "daemonsets.apps",
        "deployments.apps",
        "horizontalpodautoscalers.autoscaling",
        "jobs.batch",
        "pods",
        "replicasets.apps",
        "replicationcontrollers",
        "services",
        "statefulsets.apps",
    ),
    "api-extensions": (
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    ),
}

# Paths that exist only with a feature that is off by default: csinodes/status belongs to CSIVolumeHealth.
DISABLED_SUBRESOURCES = {"csinodes.storage.k8s.io": ("status",)}

VERBS = {"componentstatuses": ("get", "list")}  # the published data has a watch that is not served

# Kinds that are stored in the form of another version, which serves the same objects.
_SCALER = GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")
STORED_AS = {
    _SCALER._replace(version="v1"): _SCALER,
    GroupVersionKind("events.k8s.io", "v1", "Event"): GroupVersionKind("", "v1", "Event"),
}

_STREAM = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")
CONNECTIONS = {
    "nodes": (Subresource("proxy", "NodeProxyOptions", _PROXY),),
    "pods": (
        Subresource("attach", "PodAttachOptions", _STREAM),
        Subresource("exec", "PodExecOptions", _STREAM),
        Subresource("portforward", "PodPortForwardOptions", _STREAM),
        Subresource("proxy", "PodProxyOptions", _PROXY),
    ),
    "services": (Subresource("proxy", "ServiceProxyOptions", _PROXY),),
}

# Defaults of map keys of list items: without them items could not be identified. OpenAPI v3 has them, v2 cannot.
DEFAULTS: dict[str, dict[str, Any]] = {
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ReplicationControllerSpec": {"replicas": 1},
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
}
