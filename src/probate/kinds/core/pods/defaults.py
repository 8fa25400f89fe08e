"""Pods, and pod specs wherever they are: templates of workloads get what a spec gets, but not what only a pod gets."""

from __future__ import annotations

from probate.kinds.core.pods import resource_defaults
from probate.kinds.core.pods.container_defaults import default_container
from probate.kinds.core.pods.volumes.defaults import default_volume
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import Object, fill, fill_zero, items, made, text

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def default_pod(pod: Object) -> None:
    """Fill a Pod."""
    spec = made(pod, "spec")
    if spec is None:
        return
    default_pod_spec(spec)
    if isinstance(grace := spec["terminationGracePeriodSeconds"], int) and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    resource_defaults.default_requests(spec)
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork") is True:
        _default_host_ports(spec)


def default_template(owner: Object, key: str = "template") -> None:
    """Fill the pod template in this field of a workload."""
    template = made(owner, key)
    if template is None:
        return
    if (spec := made(template, "spec")) is not None:
        default_pod_spec(spec)


def default_pod_spec(spec: Object) -> None:
    """Fill a pod's spec, in a pod or in a template."""
    _settle_service_account(spec)
    fill_zero(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler")
    fill(spec, terminationGracePeriodSeconds=30)
    made(spec, "securityContext")
    for name in _CONTAINERS:
        for container in items(spec, name):
            default_container(container)
    for volume in items(spec, "volumes"):
        default_volume(volume)
    quantity_defaults.settle_lists(spec, "overhead")


def _settle_service_account(spec: Object) -> None:
    """The account has two fields of the same meaning, and an old one that readers still look at."""
    if name := text(spec, "serviceAccountName") or text(spec, "serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_host_ports(spec: Object) -> None:
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            for port in items(container, "ports"):
                if port.get("containerPort"):
                    fill_zero(port, hostPort=port["containerPort"])
