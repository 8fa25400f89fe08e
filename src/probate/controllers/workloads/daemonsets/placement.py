"""Which nodes a DaemonSet's pods are for, and what ties each pod to its node.

A pod is not put on its node: it says by its affinity that it wants this one and no other, and the scheduler does the rest.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import DAEMON_SET
from probate.kinds.core import node_selection, taints
from probate.kinds.core.node_selection import REQUIRED
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE

HASH = "controller-revision-hash"
GENERATION = "pod-template-generation"
_GENERATION_OF_SET = "deprecated.daemonset.template.generation"
_FIELD = "metadata.name"
_TROUBLES = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
"""What keeps other pods off a node, but not those that are there to serve the node itself."""
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


class Verdict(NamedTuple):
    """Whether a pod is to come to the node, and whether one that is there may stay."""

    should_run: bool
    may_stay: bool


def judge(set_: Object, node: Object) -> Verdict:
    """What the set wants on the node."""
    spec = _spec(set_["spec"]["template"])
    if spec.get("nodeName") not in (None, "", node["metadata"]["name"]) or not node_selection.is_wanted(spec, node):
        return Verdict(should_run=False, may_stay=False)
    pod = {"spec": spec}
    if taints.untolerated(pod, taints.taints_of(node, NO_EXECUTE)) is not None:
        return Verdict(should_run=False, may_stay=False)
    is_kept_off = taints.untolerated(pod, taints.taints_of(node, NO_SCHEDULE)) is not None
    return Verdict(should_run=not is_kept_off, may_stay=True)


def new_pod(set_: Object, hash_: str, node: str) -> Object:
    """The pod for this node."""
    made = pod_template.from_template(set_["spec"]["template"], set_, DAEMON_SET)
    generation = (set_["metadata"].get("annotations") or {}).get(_GENERATION_OF_SET)
    marks = {HASH: hash_, **({GENERATION: generation} if generation else {})}
    meta = {**made["metadata"], "labels": {**(made["metadata"].get("labels") or {}), **marks}}
    spec = _spec(set_["spec"]["template"])
    affinity = spec.get("affinity") or {}
    only = {"matchFields": [{"key": _FIELD, "operator": "In", "values": [node]}]}
    tied = {**(affinity.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": [only]}}
    return {"metadata": meta, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": tied}}}


def node_of(pod: Object) -> str:
    """The node that the pod is on, or is for."""
    found: str = pod["spec"].get("nodeName") or ""
    return found or _tied_to(pod["spec"])


def _tied_to(spec: Object) -> str:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == _FIELD and field["operator"] == "In" and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return ""


def _spec(template: Object) -> Object:
    """The spec of the pods, with what they tolerate because they serve their node."""
    spec: Object = template["spec"]
    said = spec.get("tolerations") or []
    troubles = [*_TROUBLES, *([_NO_NETWORK] if spec.get("hostNetwork") else [])]
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in troubles]
    return {**spec, "tolerations": [*(one for one in said if one not in added), *added]}
