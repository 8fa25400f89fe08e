"""The pods of a StatefulSet: the ordinal of each, and the pod for an ordinal."""

from __future__ import annotations

import re

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import STATEFUL_SET
from probate.controllers.workloads.statefulsets import volume_claims

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"

_POD_NAME_PATTERN = re.compile(r"(.*)-([0-9]{1,9})", re.ASCII)


def ordinal(pod: Object, stateful_set: Object) -> int | None:
    """Returns the pod's ordinal, or None if its name is not that of a pod of the StatefulSet. (SS-1)"""
    match = _POD_NAME_PATTERN.fullmatch(pod["metadata"]["name"])
    return int(match[2]) if match is not None and match[1] == stateful_set["metadata"]["name"] else None


def desired_ordinals(stateful_set: Object) -> range:
    """Returns the ordinals that should have a pod."""
    start = (stateful_set["spec"].get("ordinals") or {}).get("start") or 0
    return range(start, start + stateful_set["spec"]["replicas"])


def is_ordered(stateful_set: Object) -> bool:
    """Returns whether each pod waits for those before it (OrderedReady)."""
    return bool(stateful_set["spec"].get("podManagementPolicy") != "Parallel")


def pod_revision(pod: Object) -> str:
    """Returns the name of the revision that the pod was created from."""
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def is_running_and_ready(pod: Object) -> bool:
    """Returns whether the pod is running and ready. It may be being deleted."""
    return pod_template.phase(pod) == "Running" and pod_template.is_ready(pod)


def is_available(pod: Object, stateful_set: Object, now: float) -> bool:
    """Returns whether the pod has been ready for minReadySeconds and is not being deleted."""
    remaining = pod_template.seconds_until_available(pod, stateful_set["spec"].get("minReadySeconds") or 0, now)
    return is_running_and_ready(pod) and not is_deleting(pod) and remaining == 0


def new_pod(stateful_set: Object, template: Object, revision_name: str, *, index: int) -> Object:
    """Returns the pod of this ordinal and revision."""
    pod = pod_template.pod_from_template(template, stateful_set, STATEFUL_SET)
    name, meta = f"{stateful_set['metadata']['name']}-{index}", {**pod["metadata"]}
    del meta["generateName"]
    meta |= {"name": name, "labels": {**(meta.get("labels") or {}), **identity_labels(name, index), REVISION_LABEL: revision_name}}
    spec = {**volume_claims.with_volumes(pod["spec"], stateful_set, index), "hostname": name}
    if stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = stateful_set["spec"]["serviceName"]
    return {"metadata": meta, "spec": spec}


def identity_labels(name: str, index: int) -> dict[str, str]:
    """Returns the labels that identify the pod."""
    return {POD_NAME: name, POD_INDEX: str(index)}
