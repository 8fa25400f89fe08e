"""Which pods a Service selects, and the addresses and ports of each. EndpointSlices and Endpoints are both derived from this."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import namespace_of

HEADLESS = "service.kubernetes.io/headless"


class Port(NamedTuple):
    """A port of a pod, under the name that the Service gives it."""

    name: str
    protocol: str
    port: int
    app_protocol: str

    def to_object(self) -> Object:
        app = {"appProtocol": self.app_protocol} if self.app_protocol else {}
        return {"name": self.name, "protocol": self.protocol, "port": self.port, **app}


def selects(service: Object, pod: Object) -> bool:
    """Returns whether the Service selects the pod. A Service without a selector selects none: a user maintains its endpoints."""
    selector = service["spec"].get("selector") or {}
    return bool(selector) and selector.items() <= (pod["metadata"].get("labels") or {}).items()


def has_managed_endpoints(service: Object) -> bool:
    """Returns whether the controllers manage the endpoints of the Service."""
    return bool(service["spec"].get("selector")) and service["spec"].get("type") != "ExternalName"


def is_headless(service: Object) -> bool:
    """Returns whether the Service has no cluster IP."""
    return bool(service["spec"].get("clusterIP") == "None")


def publishes_not_ready(service: Object) -> bool:
    """Returns whether pods count as ready whatever their Ready condition says."""
    return bool(service["spec"].get("publishNotReadyAddresses"))


def reachable_pods(service: Object, candidates: Iterable[Object]) -> list[Object]:
    """Returns the pods that have an address and are not finished, sorted by name."""
    pods = (pod for pod in candidates if selects(service, pod) and addresses(pod) and not pod_template.is_finished(pod))
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


def addresses(pod: Object) -> list[str]:
    """Returns the pod's addresses."""
    status = pod.get("status") or {}
    ips = [pod_ip["ip"] for pod_ip in status.get("podIPs") or () if pod_ip.get("ip")]
    return ips or ([status["podIP"]] if status.get("podIP") else [])


def address(pod: Object, family: str) -> str | None:
    """Returns the pod's address of a family: IPv4 or IPv6."""
    return next((ip for ip in addresses(pod) if family_of(ip) == family), None)


def family_of(text: str) -> str:
    """Returns IPv4 or IPv6."""
    return f"IPv{ipaddress.ip_address(text).version}"


def ports(service: Object, pod: Object) -> tuple[Port, ...]:
    """Returns the Service's ports that the pod has. A target port given by name is looked up in the pod's container ports."""
    result = list[Port]()
    for port in service["spec"].get("ports") or ():
        protocol = port.get("protocol") or "TCP"
        number = _port_number(port.get("targetPort") or port["port"], protocol, pod)
        if number is not None:
            result.append(Port(port.get("name") or "", protocol, number, port.get("appProtocol") or ""))
    return tuple(result)


def hostname(service: Object, pod: Object) -> str:
    """Returns the pod's hostname within the Service, if it has one."""
    spec = pod["spec"]
    is_in_subdomain = spec.get("subdomain") == service["metadata"]["name"] and namespace_of(pod) == namespace_of(service)
    return str(spec.get("hostname") or "") if is_in_subdomain else ""


def reference(pod: Object) -> Object:
    """Returns the targetRef of the pod's endpoint."""
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def _port_number(target: int | str, protocol: str, pod: Object) -> int | None:
    if isinstance(target, int):
        return target
    for port in _container_ports(pod):
        if port.get("name") == target and (port.get("protocol") or "TCP") == protocol:
            return int(port["containerPort"])
    return None


def _container_ports(pod: Object) -> Iterator[Object]:
    sidecars = [container for container in pod["spec"].get("initContainers") or () if container.get("restartPolicy") == "Always"]
    for container in (*sidecars, *pod["spec"]["containers"]):
        yield from container.get("ports") or ()
