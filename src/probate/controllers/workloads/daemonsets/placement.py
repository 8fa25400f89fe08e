"""Which nodes a DaemonSet's pods belong on, and how each pod is tied to its node.

A pod is not bound to its node: its node affinity names that node and no other, and the scheduler binds it.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import DAEMON_SET
from probate.kinds.core import node_selection, taints
from probate.kinds.core.node_selection import REQUIRED
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE

REVISION_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
_NAME_FIELD = "metadata.name"
_TOLERATED_TAINTS = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
"""The node taints that keep other pods away but that daemon pods tolerate."""
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


class Placement(NamedTuple):
    """Whether a pod should run on the node, and whether an existing one may continue to run."""

    should_run: bool
    should_continue_running: bool


def node_placement(daemon_set: Object, node: Object) -> Placement:
    """Returns whether the DaemonSet runs a pod on the node."""
    spec = _spec(daemon_set["spec"]["template"])
    if spec.get("nodeName") not in (None, "", node["metadata"]["name"]) or not node_selection.is_selected(spec, node):
        return Placement(should_run=False, should_continue_running=False)
    pod = {"spec": spec}
    if taints.first_untolerated(pod, taints.taints_of(node, NO_EXECUTE)) is not None:
        return Placement(should_run=False, should_continue_running=False)
    is_repelled = taints.first_untolerated(pod, taints.taints_of(node, NO_SCHEDULE)) is not None
    return Placement(should_run=not is_repelled, should_continue_running=True)


def new_pod(daemon_set: Object, update_hash: str, node: str) -> Object:
    """Returns the pod for this node."""
    pod = pod_template.pod_from_template(daemon_set["spec"]["template"], daemon_set, DAEMON_SET)
    generation = (daemon_set["metadata"].get("annotations") or {}).get(_GENERATION_ANNOTATION)
    labels = {REVISION_LABEL: update_hash, **({GENERATION_LABEL: generation} if generation else {})}
    meta = {**pod["metadata"], "labels": {**(pod["metadata"].get("labels") or {}), **labels}}
    spec = _spec(daemon_set["spec"]["template"])
    affinity = spec.get("affinity") or {}
    node_term = {"matchFields": [{"key": _NAME_FIELD, "operator": "In", "values": [node]}]}
    node_affinity = {**(affinity.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": [node_term]}}
    return {"metadata": meta, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": node_affinity}}}


def target_node(pod: Object) -> str:
    """Returns the node that the pod runs on, or is tied to."""
    name: str = pod["spec"].get("nodeName") or ""
    return name or _affinity_node(pod["spec"])


def _affinity_node(spec: Object) -> str:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == _NAME_FIELD and field["operator"] == "In" and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return ""


def _spec(template: Object) -> Object:
    """Returns the spec of the pods, with the tolerations that daemon pods get."""
    spec: Object = template["spec"]
    tolerations = spec.get("tolerations") or []
    tolerated = [*_TOLERATED_TAINTS, *([_NO_NETWORK] if spec.get("hostNetwork") else [])]
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in tolerated]
    return {**spec, "tolerations": [*(toleration for toleration in tolerations if toleration not in added), *added]}
