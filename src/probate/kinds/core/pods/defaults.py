"""Sets the defaults of Pods and pod specs. Pod templates get the defaults of a spec, but not those that only a Pod gets."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.pods import resource_defaults
from probate.kinds.core.pods.container_defaults import default_container
from probate.kinds.core.pods.volumes.defaults import default_volume
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import ensure_child, fill, fill_zero, items, text

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def default_pod(pod: Object) -> None:
    """Sets the defaults of a Pod."""
    spec = ensure_child(pod, "spec")
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
    """Sets the defaults of the pod template in this field of a workload."""
    template = ensure_child(owner, key)
    if template is None:
        return
    if (spec := ensure_child(template, "spec")) is not None:
        default_pod_spec(spec)


def default_pod_spec(spec: Object) -> None:
    """Sets the defaults of a pod spec, in a Pod or in a template."""
    _align_service_account(spec)
    fill_zero(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler")
    fill(spec, terminationGracePeriodSeconds=30)
    ensure_child(spec, "securityContext")
    for name in _CONTAINERS:
        for container in items(spec, name):
            default_container(container)
    for volume in items(spec, "volumes"):
        default_volume(volume)
    quantity_defaults.normalize_lists(spec, "overhead")


def _align_service_account(spec: Object) -> None:
    """Copies `serviceAccountName` to its deprecated alias `serviceAccount` or the reverse: some clients read only the old field."""
    if name := text(spec, "serviceAccountName") or text(spec, "serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_host_ports(spec: Object) -> None:
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            for port in items(container, "ports"):
                if port.get("containerPort"):
                    fill_zero(port, hostPort=port["containerPort"])
