"""Pod status predicates that the workload controllers share, and the pod that an owner's template describes."""

from __future__ import annotations

from probate.api import names
from probate.api.objects import Object
from probate.api.timestamps import parse_time
from probate.client.resources import is_deleting
from probate.controllers.runtime import remaining_time
from probate.controllers.workloads.owner_kinds import OwnerKind


def phase(pod: Object) -> str:
    """Returns Pending, Running, Succeeded, Failed or Unknown."""
    value: str = (pod.get("status") or {}).get("phase") or ""
    return value


def is_finished(pod: Object) -> bool:
    """Returns whether all containers have terminated for good."""
    return phase(pod) in {"Succeeded", "Failed"}


def is_active(pod: Object) -> bool:
    """Returns whether the pod counts as a replica: neither finished nor being deleted."""
    return not is_deleting(pod) and not is_finished(pod)


def is_terminating(pod: Object) -> bool:
    """Returns whether the pod is being deleted and may still run."""
    return is_deleting(pod) and not is_finished(pod)


def ready_condition(pod: Object) -> Object | None:
    """Returns the Ready condition if it is true, which says since when the pod is ready; otherwise None."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return condition if condition["status"] == "True" else None
    return None


def is_ready(pod: Object) -> bool:
    """Returns whether the pod is ready."""
    return ready_condition(pod) is not None


def seconds_until_available(pod: Object, min_ready_seconds: int, now: float) -> float | None:
    """Returns in how many seconds the pod becomes available if it stays ready: 0 if it is available now, None if it is not
    ready.
    """
    condition = ready_condition(pod)
    if condition is None:
        return None
    since = condition.get("lastTransitionTime")
    if not min_ready_seconds:
        return 0.0
    return remaining_time.until(parse_time(since) + min_ready_seconds, now) if since else None


def pod_from_template(template: Object, owner: Object, kind: OwnerKind) -> Object:
    """Returns a new pod of the owner: labels, annotations and finalizers are the template's, owner references are not. (OWN-1,
    OWN-2)
    """
    template_metadata = template.get("metadata") or {}
    meta = {name: template_metadata[name] for name in ("labels", "annotations", "finalizers") if template_metadata.get(name)}
    prefix = _generate_name(owner["metadata"]["name"])
    return {"metadata": {"generateName": prefix, **meta, "ownerReferences": [kind.reference(owner)]}, "spec": template["spec"]}


def _generate_name(name: str) -> str:
    return f"{name}-" if not names.validate_dns_subdomain(f"{name}-x") else name
