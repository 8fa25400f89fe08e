"""The status of a simulated node."""

from __future__ import annotations

import ipaddress

from probate.api.objects import Object
from probate.controllers.simulated_nodes import simulation_annotations

NAME_FORMAT = "node-{}"
CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1020"}
POD_NETWORK = ipaddress.IPv4Network("10.128.0.0/10")
"""The addresses of pods: a block of 1,024 for each node."""
POD_CIDR_PREFIX = 22
NODE_NETWORK = ipaddress.IPv4Network("10.64.0.0/16")
"""The addresses of the nodes themselves."""
HEALTHY_CONDITIONS = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "the simulated node has sufficient memory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "the simulated node has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "the simulated node has sufficient process ids"),
    "Ready": ("True", "KubeletReady", "the simulated node is ready"),
}


def new_node(name: str, now: str) -> Object:
    """Returns a node that registers itself."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        simulation_annotations.SIMULATED: "true",
    }
    return {"metadata": {"name": name, "labels": labels}, "status": status({}, now)}


def status(before: Object, now: str) -> Object:
    """Returns the status of a healthy node. Fields that other clients wrote into it stay."""
    previous_conditions = before.get("conditions") or []
    other_conditions = [condition for condition in previous_conditions if condition["type"] not in HEALTHY_CONDITIONS]
    since = {
        condition["type"]: condition.get("lastTransitionTime")
        for condition in previous_conditions
        if condition["status"] == HEALTHY_CONDITIONS.get(condition["type"], ("",))[0]
    }
    own_conditions = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": since.get(type_) or now,
        }
        for type_, (status, reason, message) in HEALTHY_CONDITIONS.items()
    ]
    info = {"operatingSystem": "linux", "architecture": "amd64", "kubeletVersion": "v1.37.0-simulated", "osImage": "simulated"}
    empty_fields = ("machineID", "systemUUID", "bootID", "kernelVersion", "containerRuntimeVersion", "kubeProxyVersion")
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "nodeInfo": {**dict.fromkeys(empty_fields, ""), **info},
        **before,
        "conditions": [*other_conditions, *own_conditions],
    }


def is_healthy(node: Object) -> bool:
    """Returns whether the node's conditions are those of a healthy node."""
    statuses = {condition["type"]: condition["status"] for condition in (node.get("status") or {}).get("conditions") or []}
    return all(statuses.get(type_) == status for type_, (status, _, _) in HEALTHY_CONDITIONS.items())


def free_pod_cidr(used_cidrs: set[str]) -> str:
    """Returns a block of pod addresses that no node has."""
    return next(cidr for subnet in POD_NETWORK.subnets(new_prefix=POD_CIDR_PREFIX) if (cidr := str(subnet)) not in used_cidrs)


def node_address(cidr: str) -> str:
    """Returns the address of the node that has this block for its pods."""
    index = (int(ipaddress.IPv4Network(cidr).network_address) - int(POD_NETWORK.network_address)) >> (32 - POD_CIDR_PREFIX)
    return str(NODE_NETWORK.network_address + index + 1)
