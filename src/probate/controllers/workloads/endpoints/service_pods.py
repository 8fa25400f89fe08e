"""Which pods a Service stands for, and how each of them can be reached. Both forms of the answer are made from this."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import namespace_of

HEADLESS = "service.kubernetes.io/headless"


class Port(NamedTuple):
    """A port at which a pod serves, as the service calls it."""

    name: str
    protocol: str
    port: int
    app_protocol: str

    def written(self) -> Object:
        app = {"appProtocol": self.app_protocol} if self.app_protocol else {}
        return {"name": self.name, "protocol": self.protocol, "port": self.port, **app}


def selects(service: Object, pod: Object) -> bool:
    """Whether the service stands for the pod. One without a selector stands for none: somebody else says where it is."""
    selector = service["spec"].get("selector") or {}
    return bool(selector) and selector.items() <= (pod["metadata"].get("labels") or {}).items()


def is_kept(service: Object) -> bool:
    """Whether it is for us to say where the service is."""
    return bool(service["spec"].get("selector")) and service["spec"].get("type") != "ExternalName"


def is_headless(service: Object) -> bool:
    """Whether the service has no address of its own."""
    return bool(service["spec"].get("clusterIP") == "None")


def shows_all(service: Object) -> bool:
    """Whether pods count as ready whatever they say."""
    return bool(service["spec"].get("publishNotReadyAddresses"))


def reachable(service: Object, candidates: Iterable[Object]) -> list[Object]:
    """The pods that have an address and have not ended, by their names."""
    found = (pod for pod in candidates if selects(service, pod) and addresses(pod) and not pod_template.is_finished(pod))
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def addresses(pod: Object) -> list[str]:
    """The pod's addresses."""
    status = pod.get("status") or {}
    listed = [one["ip"] for one in status.get("podIPs") or () if one.get("ip")]
    return listed or ([status["podIP"]] if status.get("podIP") else [])


def address(pod: Object, family: str) -> str | None:
    """The pod's address of a family: IPv4 or IPv6."""
    return next((one for one in addresses(pod) if family_of(one) == family), None)


def family_of(text: str) -> str:
    """IPv4 or IPv6."""
    return f"IPv{ipaddress.ip_address(text).version}"


def ports(service: Object, pod: Object) -> tuple[Port, ...]:
    """The ports of the service that the pod has. A port that is meant by name is wherever the pod says."""
    found = list[Port]()
    for one in service["spec"].get("ports") or ():
        protocol = one.get("protocol") or "TCP"
        number = _number(one.get("targetPort") or one["port"], protocol, pod)
        if number is not None:
            found.append(Port(one.get("name") or "", protocol, number, one.get("appProtocol") or ""))
    return tuple(found)


def hostname(service: Object, pod: Object) -> str:
    """The name of the pod within the service, if it has one."""
    spec = pod["spec"]
    is_within = spec.get("subdomain") == service["metadata"]["name"] and namespace_of(pod) == namespace_of(service)
    return str(spec.get("hostname") or "") if is_within else ""


def reference(pod: Object) -> Object:
    """What an endpoint says of its pod."""
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def is_staying(pod: Object) -> bool:
    """Whether the pod is not on its way out."""
    return not is_deleting(pod)


def _number(target: int | str, protocol: str, pod: Object) -> int | None:
    if isinstance(target, int):
        return target
    for one in _declared(pod):
        if one.get("name") == target and (one.get("protocol") or "TCP") == protocol:
            return int(one["containerPort"])
    return None


def _declared(pod: Object) -> Iterator[Object]:
    sidecars = [one for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*sidecars, *pod["spec"]["containers"]):
        yield from container.get("ports") or ()
