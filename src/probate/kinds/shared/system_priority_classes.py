"""The two system priority classes that every server has: for pods without which a cluster, or a node, does not work."""

from __future__ import annotations

from probate.api.objects import Object

CLUSTER, NODE = "system-cluster-critical", "system-node-critical"
VALUES = {CLUSTER: 2_000_000_000, NODE: 2_000_001_000}
_TOLD = {
    CLUSTER: "For pods that a cluster needs, and that may move to another node.",
    NODE: "For pods that a node needs, and that cannot move to another one.",
}


def objects() -> list[Object]:
    """Returns both classes as objects."""
    return [{"metadata": {"name": name}, "value": value, "description": _TOLD[name]} for name, value in VALUES.items()]
