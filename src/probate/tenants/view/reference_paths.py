"""Where built-in kinds refer to something whose name differs between the views: one row for each field.

A path is field names joined by dots; `[]` after a name stands for each element of a list. The row says how the field is renamed;
`reference_converter` implements it. A field that is not in the table has the same value in both views.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, TypeAlias

from probate.api.gvk import GroupResource

NAMESPACE = "namespace"
GROUP = "group"  # an API group
NAMESPACE_SELECTOR = "namespaceSelector"  # a label selector of namespaces
OBJECT = "object"  # apiVersion or apiGroup, kind, and name, perhaps with a namespace
TYPED = "typed"  # apiVersion or apiGroup and kind of an object in the same namespace, or of a parameter
SUBJECT = "subject"  # an RBAC subject
ROLE = "role"  # a roleRef
USER = "user"  # a user name
USER_GROUP = "userGroup"  # a group of users
FLOW_SUBJECT = "flowSubject"  # a subject of a FlowSchema
QUOTA_KEYS = "quotaKeys"  # a map whose keys are the resources of a quota
PRIORITY_VALUES = "priorityValues"  # a scope selector of a quota


Target: TypeAlias = str | GroupResource
"""How a field is renamed: one of the constants above, or as the name of a cluster-scoped object of this resource."""
Rows: TypeAlias = tuple[tuple[str, Target], ...]


class Reference(NamedTuple):
    """One row: a path, and how the value there is renamed."""

    path: tuple[str, ...]
    target: Target


PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
STORAGE_CLASSES = GroupResource("storage.k8s.io", "storageclasses")
CLUSTER_ROLES = GroupResource("rbac.authorization.k8s.io", "clusterroles")
_RUNTIME_CLASSES = GroupResource("node.k8s.io", "runtimeclasses")
_ATTRIBUTES_CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")
_INGRESS_CLASSES = GroupResource("networking.k8s.io", "ingressclasses")
_DEVICE_CLASSES = GroupResource("resource.k8s.io", "deviceclasses")
_PERSISTENT_VOLUMES = GroupResource("", "persistentvolumes")
_PRIORITY_LEVELS = GroupResource("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations")
_VALIDATING_POLICIES = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
_MUTATING_POLICIES = GroupResource("admissionregistration.k8s.io", "mutatingadmissionpolicies")

_POD_AFFINITY_TERMS = tuple(
    f"affinity.{affinity}.{terms}"
    for affinity in ("podAffinity", "podAntiAffinity")
    for terms in (
        "requiredDuringSchedulingIgnoredDuringExecution[]",
        "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
    )
)
_CLAIM_SPEC: Rows = (
    ("storageClassName", STORAGE_CLASSES),
    ("volumeAttributesClassName", _ATTRIBUTES_CLASSES),
    ("volumeName", _PERSISTENT_VOLUMES),
    ("dataSource", TYPED),
    ("dataSourceRef", OBJECT),
)
_POD_SPEC: Rows = (
    ("priorityClassName", PRIORITY_CLASSES),
    ("runtimeClassName", _RUNTIME_CLASSES),
    *((f"{term}.namespaces[]", NAMESPACE) for term in _POD_AFFINITY_TERMS),
    *((f"{term}.namespaceSelector", NAMESPACE_SELECTOR) for term in _POD_AFFINITY_TERMS),
    *((f"volumes[].ephemeral.volumeClaimTemplate.spec.{path}", target) for path, target in _CLAIM_SPEC),
)
_VOLUME_SPEC: Rows = (
    ("claimRef", OBJECT),
    ("storageClassName", STORAGE_CLASSES),
    ("volumeAttributesClassName", _ATTRIBUTES_CLASSES),
    ("azureFile.secretNamespace", NAMESPACE),
    ("glusterfs.endpointsNamespace", NAMESPACE),
    ("storageos.secretRef", OBJECT),
    *(
        (f"csi.{secret}.namespace", NAMESPACE)
        for secret in (
            "controllerExpandSecretRef",
            "controllerPublishSecretRef",
            "nodeExpandSecretRef",
            "nodePublishSecretRef",
            "nodeStageSecretRef",
        )
    ),
    *((f"{source}.secretRef.namespace", NAMESPACE) for source in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO")),
)
_MATCHED_RESOURCES: Rows = (
    ("resourceRules[].apiGroups[]", GROUP),
    ("excludeResourceRules[].apiGroups[]", GROUP),
    ("namespaceSelector", NAMESPACE_SELECTOR),
)
_WEBHOOKS: Rows = (
    ("webhooks[].clientConfig.service.namespace", NAMESPACE),
    ("webhooks[].namespaceSelector", NAMESPACE_SELECTOR),
    ("webhooks[].rules[].apiGroups[]", GROUP),
)
_BINDING: Rows = (("subjects[]", SUBJECT), ("roleRef", ROLE))
_ROLE: Rows = (("rules[].apiGroups[]", GROUP),)
_DEVICE_REQUESTS: Rows = (
    ("devices.requests[].exactly.deviceClassName", _DEVICE_CLASSES),
    ("devices.requests[].firstAvailable[].deviceClassName", _DEVICE_CLASSES),
)


def _policy_binding(policies: GroupResource) -> Rows:
    matched = ((f"spec.matchResources.{path}", target) for path, target in _MATCHED_RESOURCES)
    return (("spec.policyName", policies), ("spec.paramRef.namespace", NAMESPACE), *matched)


def _below(path: str, rows: Rows) -> Rows:
    return tuple((f"{path}.{field}", target) for field, target in rows)


def _flow_rules() -> Rows:
    return (
        ("spec.priorityLevelConfiguration.name", _PRIORITY_LEVELS),
        ("spec.rules[].subjects[]", FLOW_SUBJECT),
        ("spec.rules[].resourceRules[].apiGroups[]", GROUP),
        ("spec.rules[].resourceRules[].namespaces[]", NAMESPACE),
    )


_POLICY: Rows = (("spec.paramKind", TYPED), *_below("spec.matchConstraints", _MATCHED_RESOURCES))
_TEMPLATE: Rows = _below("spec.template.spec", _POD_SPEC)

TABLE: dict[str, Rows] = {
    "apiservices.apiregistration.k8s.io": (("spec.service.namespace", NAMESPACE), ("spec.group", GROUP)),
    "certificatesigningrequests.certificates.k8s.io": (("spec.username", USER), ("spec.groups[]", USER_GROUP)),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterroles.rbac.authorization.k8s.io": _ROLE,
    "cronjobs.batch": (*_below("spec.jobTemplate.spec.template.spec", _POD_SPEC), ("status.active[]", OBJECT)),
    "csistoragecapacities.storage.k8s.io": (("storageClassName", STORAGE_CLASSES),),
    "customresourcedefinitions.apiextensions.k8s.io": (("spec.conversion.webhook.clientConfig.service.namespace", NAMESPACE),),
    "daemonsets.apps": _TEMPLATE,
    "deployments.apps": _TEMPLATE,
    "endpoints": (
        ("subsets[].addresses[].targetRef", OBJECT),
        ("subsets[].notReadyAddresses[].targetRef", OBJECT),
    ),
    "endpointslices.discovery.k8s.io": (("endpoints[].targetRef", OBJECT),),
    "events": (("involvedObject", OBJECT), ("related", OBJECT)),
    "flowschemas.flowcontrol.apiserver.k8s.io": _flow_rules(),
    "horizontalpodautoscalers.autoscaling": (
        ("spec.scaleTargetRef", TYPED),
        ("spec.metrics[].object.describedObject", TYPED),
        ("status.currentMetrics[].object.describedObject", TYPED),
    ),
    "ingressclasses.networking.k8s.io": (("spec.parameters", OBJECT),),
    "ingresses.networking.k8s.io": (
        ("spec.ingressClassName", _INGRESS_CLASSES),
        ("spec.defaultBackend.resource", TYPED),
        ("spec.rules[].http.paths[].backend.resource", TYPED),
    ),
    "ipaddresses.networking.k8s.io": (("spec.parentRef.namespace", NAMESPACE),),
    "jobs.batch": _TEMPLATE,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _POLICY,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding(_MUTATING_POLICIES),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "networkpolicies.networking.k8s.io": (
        ("spec.egress[].to[].namespaceSelector", NAMESPACE_SELECTOR),
        ("spec.ingress[].from[].namespaceSelector", NAMESPACE_SELECTOR),
    ),
    "persistentvolumeclaims": (
        *_below("spec", _CLAIM_SPEC),
        ("status.currentVolumeAttributesClassName", _ATTRIBUTES_CLASSES),
        ("status.modifyVolumeStatus.targetVolumeAttributesClassName", _ATTRIBUTES_CLASSES),
    ),
    "persistentvolumes": _below("spec", _VOLUME_SPEC),
    "pods": _below("spec", _POD_SPEC),
    "podtemplates": _below("template.spec", _POD_SPEC),
    "replicasets.apps": _TEMPLATE,
    "replicationcontrollers": _TEMPLATE,
    "resourceclaims.resource.k8s.io": (*_below("spec", _DEVICE_REQUESTS), ("status.reservedFor[]", TYPED)),
    "resourceclaimtemplates.resource.k8s.io": _below("spec.spec", _DEVICE_REQUESTS),
    "resourcequotas": (
        ("spec.hard", QUOTA_KEYS),
        ("spec.scopeSelector.matchExpressions[]", PRIORITY_VALUES),
        ("status.hard", QUOTA_KEYS),
        ("status.used", QUOTA_KEYS),
    ),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "roles.rbac.authorization.k8s.io": _ROLE,
    "serviceaccounts": (("secrets[]", OBJECT),),
    "statefulsets.apps": (*_TEMPLATE, *_below("spec.volumeClaimTemplates[].spec", _CLAIM_SPEC)),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _POLICY,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding(_VALIDATING_POLICIES),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "volumeattachments.storage.k8s.io": (
        ("spec.source.persistentVolumeName", _PERSISTENT_VOLUMES),
        *_below("spec.source.inlineVolumeSpec", _VOLUME_SPEC),
    ),
}
"""The rows of each resource, by plural and group."""


@cache
def references_of(resource: str) -> tuple[Reference, ...]:
    """Returns the rows of a resource; none for a custom resource, whose fields Probate does not know."""
    return tuple(Reference(_steps(path), target) for path, target in TABLE.get(resource, ()))


def _steps(path: str) -> tuple[str, ...]:
    """Splits `a[].b` into the steps `a`, `[]`, `b`."""
    return tuple(path.replace("[]", ".[]").split("."))
