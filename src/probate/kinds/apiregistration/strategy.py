"""Prepares a new APIService."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child


def create_api_service(service: Object, *, now: str) -> None:
    """Prepares a new APIService: one without a service is local, so it is available. Nothing is proxied to other servers."""
    spec = child(service, "spec")
    if spec is None:
        return
    if spec.get("service") is not None:
        message = "this server does not forward requests to other servers"
        missing = {"type": "Available", "status": "False", "reason": "NoAggregation", "lastTransitionTime": now, "message": message}
        service["status"] = {"conditions": [missing]}
        return
    available = {"type": "Available", "status": "True", "reason": "Local", "lastTransitionTime": now}
    service["status"] = {"conditions": [{**available, "message": "Local APIServices are always available"}]}
