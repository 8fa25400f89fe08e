"""One event of the audit log, in the shape of Kubernetes' `audit.k8s.io/v1`. Fields that are empty are left out, as there."""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.audit import redaction
from probate.api.audit.policy import NAMES, Verdict
from probate.api.audit.request_info import Asked
from probate.api.rbac.users import User
from probate.api.timestamps import micro_time

API_VERSION, KIND = "audit.k8s.io/v1", "Event"
DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
TRUNCATED = "audit.k8s.io/truncated"
"""What Kubernetes says of an event whose objects were left out for their size."""
CAUSE, BECAUSE, EFFECT, LOST = "probate.dev/cause", "probate.dev/because", "probate.dev/effect", "probate.dev/lost"
"""Of what the server's own controllers do: which deletion led to it, in a sentence why, and what became of the object. And how many
events are missing here."""

Object = dict[str, Any]


class Request(NamedTuple):
    """What is the same at all stages of a request."""

    id: str
    verdict: Verdict
    asked: Asked
    url: str
    user: User | None
    received: float
    addresses: tuple[str, ...] = ()
    agent: str = ""


class Known(NamedTuple):
    """Which object it was about, as far as the object itself says."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    version: str = ""


NOBODY = Known()


def event(request: Request, stage: str, moment: float, about: Known = NOBODY) -> Object:
    """What every event says."""
    found: Object = {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "level": NAMES[request.verdict.level],
        "auditID": request.id,
        "stage": stage,
        "requestURI": redaction.of_url(request.url),
        "verb": request.asked.verb,
        "user": {} if request.user is None else request.user.info,
    }
    if request.addresses:
        found["sourceIPs"] = list(request.addresses)
    if request.agent:
        found["userAgent"] = request.agent
    if request.asked.resource:
        found["objectRef"] = _reference(request.asked, about)
    found["requestReceivedTimestamp"] = micro_time(request.received)
    found["stageTimestamp"] = micro_time(moment)
    return found


def _reference(asked: Asked, about: Known) -> Object:
    found = {
        "resource": asked.resource,
        "namespace": asked.namespace or about.namespace,
        "name": asked.name or about.name,
        "uid": about.uid,
        "apiGroup": asked.group,
        "apiVersion": asked.version,
        "resourceVersion": about.version,
        "subresource": asked.subresource,
    }
    return {name: value for name, value in found.items() if value}


def response_status(code: int, said: Object | None) -> Object:
    """How it ended. `said` is the `Status` that was answered, if it was one."""
    told = {} if said is None else {name: said[name] for name in ("status", "message", "reason", "details") if said.get(name)}
    return {"metadata": {}, **told, "code": code}
