"""The pods of a StatefulSet: which number each has, and what one of a number looks like."""

from __future__ import annotations

import re

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.owner_kinds import STATEFUL_SET
from probate.controllers.workloads.statefulsets import volume_claims

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"

_NUMBERED = re.compile(r"(.*)-([0-9]{1,9})", re.ASCII)


def ordinal(pod: Object, set_: Object) -> int | None:
    """The pod's number; None if its name is not that of a pod of the set. (SS-1)"""
    found = _NUMBERED.fullmatch(pod["metadata"]["name"])
    return int(found[2]) if found is not None and found[1] == set_["metadata"]["name"] else None


def ordinals(set_: Object) -> range:
    """The numbers that are wanted."""
    first = (set_["spec"].get("ordinals") or {}).get("start") or 0
    return range(first, first + set_["spec"]["replicas"])


def is_ordered(set_: Object) -> bool:
    """Whether each pod waits for those before it."""
    return bool(set_["spec"].get("podManagementPolicy") != "Parallel")


def revision(pod: Object) -> str:
    """The name of the revision that the pod was made from."""
    return str((pod["metadata"].get("labels") or {}).get(REVISION, ""))


def is_running_and_ready(pod: Object) -> bool:
    """Whether it serves, maybe for the last moments."""
    return pod_template.phase(pod) == "Running" and pod_template.is_ready(pod)


def is_available(pod: Object, set_: Object, now: float) -> bool:
    """Whether it serves, has done so for long enough, and stays."""
    served = pod_template.available_in(pod, set_["spec"].get("minReadySeconds") or 0, now)
    return is_running_and_ready(pod) and not is_deleting(pod) and served == 0


def new_pod(set_: Object, template: Object, revision_name: str, number: int) -> Object:
    """The pod of this number, of this version."""
    made = pod_template.from_template(template, set_, STATEFUL_SET)
    name, meta = f"{set_['metadata']['name']}-{number}", {**made["metadata"]}
    del meta["generateName"]
    meta |= {"name": name, "labels": {**(meta.get("labels") or {}), **identity(name, number), REVISION: revision_name}}
    spec = {**volume_claims.with_volumes(made["spec"], set_, number), "hostname": name}
    if set_["spec"].get("serviceName"):
        spec["subdomain"] = set_["spec"]["serviceName"]
    return {"metadata": meta, "spec": spec}


def identity(name: str, number: int) -> dict[str, str]:
    """The labels that say which pod it is."""
    return {POD_NAME: name, POD_INDEX: str(number)}
