"""Pods, and pod specs wherever they are: templates of workloads get what a spec gets, but not what only a pod gets."""

from __future__ import annotations

from probate.machinery.defaulting import amounts, quantities
from probate.machinery.defaulting.containers import default_container
from probate.machinery.defaulting.fields import Object, drop_zero, fill, fill_null, fill_zero, items, made, text
from probate.machinery.defaulting.volumes import default_volume

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def default_pod(pod: Object) -> None:
    """Fill a Pod."""
    spec = made(pod, "spec")
    if spec is None:
        return
    default_pod_spec(spec)
    amounts.default_requests(spec)
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork") is True:
        _default_host_ports(spec)
    _default_pod_status(made(pod, "status"))


def default_template(owner: Object, key: str = "template") -> None:
    """Fill the pod template in this field of a workload."""
    template = made(owner, key)
    if template is None:
        return
    made(template, "metadata")
    if (spec := made(template, "spec")) is not None:
        default_pod_spec(spec)


def default_pod_spec(spec: Object) -> None:
    """Fill a pod's spec, in a pod or in a template."""
    drop_zero(spec, "hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain", "priorityClassName")
    _settle_service_account(spec)
    fill_zero(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler")
    fill(spec, terminationGracePeriodSeconds=30)
    made(spec, "securityContext")
    for name in _CONTAINERS:
        for container in items(spec, name):
            default_container(container)
    for volume in items(spec, "volumes"):
        default_volume(volume)
    quantities.settle_lists(spec, "overhead")


def _settle_service_account(spec: Object) -> None:
    """The account has two fields of the same meaning, and an old one that readers still look at."""
    drop_zero(spec, "serviceAccountName", "serviceAccount")
    if name := text(spec, "serviceAccountName") or text(spec, "serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_host_ports(spec: Object) -> None:
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            for port in items(container, "ports"):
                fill_zero(port, hostPort=port.get("containerPort"))
                drop_zero(port, "hostPort")


def _default_pod_status(status: Object | None) -> None:
    for condition in items(status, "conditions"):
        fill_null(condition, "lastProbeTime", "lastTransitionTime")
    for name in _STATUSES:
        for container in items(status, name):
            fill(container, ready=False, restartCount=0, image="", imageID="")
            made(container, "state")
            made(container, "lastState")
