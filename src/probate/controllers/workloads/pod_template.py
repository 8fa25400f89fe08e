"""What the controllers of pods ask about a pod, and how they make one."""

from __future__ import annotations

from probate.api import names
from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import durations
from probate.controllers.workloads.owner_kinds import OwnerKind


def phase(pod: Object) -> str:
    """Pending, Running, Succeeded, Failed or Unknown."""
    found: str = (pod.get("status") or {}).get("phase") or ""
    return found


def is_finished(pod: Object) -> bool:
    """Whether all of its containers have ended for good."""
    return phase(pod) in {"Succeeded", "Failed"}


def is_active(pod: Object) -> bool:
    """Whether it counts as a replica: neither finished nor on its way out."""
    return not is_deleting(pod) and not is_finished(pod)


def is_terminating(pod: Object) -> bool:
    """Whether it is on its way out, and may still run."""
    return is_deleting(pod) and not is_finished(pod)


def ready_condition(pod: Object) -> Object | None:
    """The condition that says since when the pod is ready; None if it is not."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one["type"] == "Ready":
            return one if one["status"] == "True" else None
    return None


def is_ready(pod: Object) -> bool:
    """Whether it can serve."""
    return ready_condition(pod) is not None


def available_in(pod: Object, min_ready_seconds: int, now: float) -> float | None:
    """In how many seconds the pod counts as available, if it stays ready: 0 if it does now, None if it is not ready."""
    condition = ready_condition(pod)
    if condition is None:
        return None
    since = condition.get("lastTransitionTime")
    if not min_ready_seconds:
        return 0.0
    return durations.until(seconds(since) + min_ready_seconds, now) if since else None


def from_template(template: Object, owner: Object, kind: OwnerKind) -> Object:
    """A new pod of the owner: labels, annotations and finalizers are the template's, references are not. (OWN-1, OWN-2)"""
    described = template.get("metadata") or {}
    meta = {name: described[name] for name in ("labels", "annotations", "finalizers") if described.get(name)}
    prefix = _prefix(owner["metadata"]["name"])
    return {"metadata": {"generateName": prefix, **meta, "ownerReferences": [kind.reference(owner)]}, "spec": template["spec"]}


def _prefix(name: str) -> str:
    return f"{name}-" if not names.dns_subdomain(f"{name}-x") else name
