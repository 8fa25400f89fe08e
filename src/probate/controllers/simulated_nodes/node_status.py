"""What a simulated node says of itself."""

from __future__ import annotations

import ipaddress

from probate.client.objects import Object
from probate.controllers.simulated_nodes import annotations as simulated_node_annotations

NAMES = "node-{}"
ROOM = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1020"}
BLOCKS = ipaddress.IPv4Network("10.128.0.0/10")
"""The addresses of pods: a block of 1,024 for each node."""
BLOCK_BITS = 22
MACHINES = ipaddress.IPv4Network("10.64.0.0/16")
"""The addresses of the nodes themselves."""
WELL = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "there is enough memory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "there is enough room on the disk"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "there are enough process ids"),
    "Ready": ("True", "KubeletReady", "the simulated node is ready"),
}


def new(name: str, now: str) -> Object:
    """A node that registers itself."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        simulated_node_annotations.SIMULATED: "true",
    }
    return {"metadata": {"name": name, "labels": labels}, "status": status({}, now)}


def status(before: Object, now: str) -> Object:
    """The status of a node that is well. What others have written into it stays."""
    told = before.get("conditions") or []
    others = [one for one in told if one["type"] not in WELL]
    since = {one["type"]: one.get("lastTransitionTime") for one in told if one["status"] == WELL.get(one["type"], ("",))[0]}
    ours = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": since.get(type_) or now,
        }
        for type_, (status, reason, message) in WELL.items()
    ]
    info = {"operatingSystem": "linux", "architecture": "amd64", "kubeletVersion": "v1.37.0-simulated", "osImage": "simulated"}
    unknown = ("machineID", "systemUUID", "bootID", "kernelVersion", "containerRuntimeVersion", "kubeProxyVersion")
    return {
        "capacity": ROOM,
        "allocatable": ROOM,
        "nodeInfo": {**dict.fromkeys(unknown, ""), **info},
        **before,
        "conditions": [*others, *ours],
    }


def is_well(node: Object) -> bool:
    """Whether the node says that it is."""
    told = {one["type"]: one["status"] for one in (node.get("status") or {}).get("conditions") or []}
    return all(told.get(type_) == status for type_, (status, _, _) in WELL.items())


def block(taken: set[str]) -> str:
    """A block of addresses that no node has."""
    return next(text for one in BLOCKS.subnets(new_prefix=BLOCK_BITS) if (text := str(one)) not in taken)


def address(cidr: str) -> str:
    """The address of the node that has this block for its pods."""
    number = (int(ipaddress.IPv4Network(cidr).network_address) - int(BLOCKS.network_address)) >> (32 - BLOCK_BITS)
    return str(MACHINES.network_address + number + 1)
