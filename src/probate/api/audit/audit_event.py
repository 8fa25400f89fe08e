"""Audit events in the form of Kubernetes' `audit.k8s.io/v1`. Empty fields are omitted, as in Kubernetes."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.audit import redaction
from probate.api.audit.policy import LEVEL_NAMES, AuditConfig
from probate.api.audit.request_info import RequestInfo
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.api.timestamps import format_micro_time

API_VERSION, KIND = "audit.k8s.io/v1", "Event"
DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
TRUNCATED = "audit.k8s.io/truncated"
"""Kubernetes' annotation of an event whose objects were omitted because of their size."""
CAUSE, BECAUSE, EFFECT, LOST = "probate.dev/cause", "probate.dev/because", "probate.dev/effect", "probate.dev/lost"
"""Annotations of events of the server's own controllers: the deletion that caused the action, the reason as a sentence, and the
effect on the object. `LOST` is the number of events that are missing at this place in the log."""

TENANT, TENANT_VIEW, TENANT_USER = "tenant.kubezoo.io/tenant", "tenant.kubezoo.io/view", "tenant.kubezoo.io/user"
"""Annotations of events about requests of tenants' users: the tenant, and how the tenant names the user. URL, object and bodies of
such an event are in the tenant's view; the event's user is in the physical view, as in all events."""


class Request(NamedTuple):
    """The facts about a request that are the same at all its stages."""

    id: str
    config: AuditConfig
    info: RequestInfo
    url: str
    user: User | None
    received: float
    source_ips: tuple[str, ...] = ()
    user_agent: str = ""


class ObjectRef(NamedTuple):
    """The object that a request is about, from its own metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    version: str = ""


NO_OBJECT = ObjectRef()


def tenant_annotations(tenant: str, user: User) -> dict[str, str]:
    """Returns the annotations of a request that is handled in the view of a tenant, in which the user has this name."""
    return {TENANT: tenant, TENANT_VIEW: "tenant", TENANT_USER: user.name}


def build_event(request: Request, stage: str, timestamp: float, *, object_ref: ObjectRef = NO_OBJECT) -> Object:
    """Returns an event with the fields that every event has."""
    fields: Object = {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "level": LEVEL_NAMES[request.config.level],
        "auditID": request.id,
        "stage": stage,
        "requestURI": redaction.redact_url(request.url),
        "verb": request.info.verb,
        "user": {} if request.user is None else request.user.info,
    }
    if request.source_ips:
        fields["sourceIPs"] = list(request.source_ips)
    if request.user_agent:
        fields["userAgent"] = request.user_agent
    if request.info.resource:
        fields["objectRef"] = _reference(request.info, object_ref)
    fields["requestReceivedTimestamp"] = format_micro_time(request.received)
    fields["stageTimestamp"] = format_micro_time(timestamp)
    return fields


def _reference(info: RequestInfo, object_ref: ObjectRef) -> Object:
    fields = {
        "resource": info.resource,
        "namespace": info.namespace or object_ref.namespace,
        "name": info.name or object_ref.name,
        "uid": object_ref.uid,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": object_ref.version,
        "subresource": info.subresource,
    }
    return {name: value for name, value in fields.items() if value}


def response_status(code: int, status: Object | None) -> Object:
    """Returns the `responseStatus` of an event. `status` is the `Status` in the response, if it was one."""
    fields = (
        {} if status is None else {name: status[name] for name in ("status", "message", "reason", "details") if status.get(name)}
    )
    return {"metadata": {}, **fields, "code": code}
