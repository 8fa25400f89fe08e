"""`delete`: an object goes, or is marked to go once nothing holds it any more."""

from __future__ import annotations

import msgspec
import orjson

from probate.api import status
from probate.api.catalog import Resource
from probate.api.deletion import Habit, Policy, habit
from probate.api.ownership import Meta
from probate.kinds.shared import system_priority_classes
from probate.server import api_errors
from probate.server.admission import phases
from probate.server.admission.attributes import Act
from probate.server.codec import delete_options, negotiation, object_codec, responses, version_conversion
from probate.server.codec.delete_options import DeleteOptions
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import deletion
from probate.server.objects.deletion import Plan
from probate.server.ownership import namespace_content
from probate.server.request import Request, Target
from probate.server.storage import storage_keys
from probate.store.contract import EmptyRange, Record, Refused, Revision

MAX_TRIES = 20
RETURNED = frozenset(
    {
        "pods",
        "services",
        "serviceaccounts",
        "persistentvolumes",
        "persistentvolumeclaims",
        "namespaces",
        "resourcequotas",
        "podtemplates",
        "storageclasses.storage.k8s.io",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
    }
)
"""Kinds whose deletion answers with the object as it was last, not with a Status."""
_UNDELETABLE = frozenset({"default", "kube-system", "kube-public"})
_KEPT = "the pods of a deleted job are kept unless told otherwise: propagationPolicy Background deletes them, Orphan keeps them"


async def delete(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Delete the object."""
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = await request.read_body()
    options = await api.apart(len(body), lambda: delete_options.read(body, media, request.query))
    if options.is_unsafe:
        from probate.server.verbs import unsafe_delete  # noqa: PLC0415 hardly anybody needs it

        return await unsafe_delete.remove(api, request.user, at)
    act = Act(request.user, options)
    answer = await delete_one(api, at, options, form, act)
    return answer._replace(warnings=warnings_of(at.resource, options) + act.warnings)


def warnings_of(resource: Resource, options: DeleteOptions) -> tuple[str, ...]:
    """What whoever deletes without saying what becomes of the dependents may not expect."""
    return (_KEPT,) if options.policy is None and resource.kind == "Job" and _orphans(resource) else ()


def _orphans(resource: Resource) -> bool:
    return habit(resource.group, resource.version, resource.kind) is Habit.ORPHAN


async def delete_one(
    api: Api, at: Target, options: DeleteOptions, form: Form, act: Act | None, *, named: str | None = None
) -> Answer:
    """Delete this object; again, if somebody changes it meanwhile. `named` is its name in the request.

    Nobody is asked about it if there is no act: that has been done.
    """
    _check_may_go(at)
    if (
        at.resource.group_resource == storage_keys.NAMESPACES
        and options.orphan_dependents is False
        and options.policy is Policy.BACKGROUND
    ):
        options = options._replace(policy=Policy.FOREGROUND)  # as Kubernetes reads it, for namespaces alone
    for _ in range(MAX_TRIES):
        answer = await _attempt(api, at, options, form, act, at.name if named is None else named)
        if answer is not None:
            return answer
    raise api_errors.changed(at.resource, at.name)


def _check_may_go(at: Target) -> None:
    if at.resource.group_resource == storage_keys.NAMESPACES and at.name in _UNDELETABLE:
        raise api_errors.forbidden(at.resource, at.name, "this namespace may not be deleted")
    if at.resource.plural == "priorityclasses" and at.name in system_priority_classes.VALUES:
        raise api_errors.forbidden(at.resource, at.name, "this is a system priority class and cannot be deleted")


async def _attempt(api: Api, at: Target, options: DeleteOptions, form: Form, act: Act | None, named: str) -> Answer | None:
    """The answer; None if somebody changed the object in between."""
    now = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
    if now is None:
        raise api_errors.not_found(at.resource, at.name)
    meta = object_codec.meta(now.value)
    check_preconditions(at.resource, now, meta, options)
    is_held = await namespace_content.is_held(api.store, at.resource, now)
    plan = deletion.plan(at.resource, now, meta, options.wish, api.clock.now(), is_held=is_held)
    if act is not None and plan.txn is not None and (api.admission.validators or api.admission.mutators):
        (await phases.check_delete(api, at, now, act, name=named)).release()
    if api.audit is not None and plan.txn is not None and not options.is_dry_run:
        api.audit.note_going(str(at.resource.group_resource), at.namespace or "", at.name, meta.uid)
    done = plan if options.is_dry_run else await carry_out(api, plan)
    if done is None:
        return None
    if done.removes and not plan.is_half:
        return _gone(api, at, done.left, meta, form)
    left = await version_conversion.shown(api, at.resource, [done.left])
    if not left:
        return _done(at, meta)
    return responses.one(
        api, left[0], at.resource, form, code=202 if options.orphan_dependents is False and not done.removes else 200
    )


def check_preconditions(resource: Resource, now: Record, meta: Meta, options: DeleteOptions) -> None:
    """`Conflict` if the object is not the one that the request means."""
    if options.uid and options.uid != meta.uid:
        why = f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.uid})"
        raise api_errors.conflict(resource, meta.name, why)
    if options.resource_version and options.resource_version != str(now.revision):
        why = f"the ResourceVersion in the precondition ({options.resource_version}) does not match the record's ({now.revision})"
        raise api_errors.conflict(resource, meta.name, why)


async def carry_out(api: Api, plan: Plan) -> Plan | None:
    """The plan as it was carried out; None if somebody changed the object first, or put something into what was to be empty."""
    if plan.txn is None:
        return plan
    outcome = await api.store.commit(plan.txn)
    if isinstance(outcome, Refused):
        if plan.otherwise is None or not any(isinstance(guard, EmptyRange) for guard in outcome.failed):
            return None
        return await carry_out(api, plan.otherwise)  # it leaves with the last of what it holds
    left = Record(plan.left.key, plan.left.value, Revision(outcome))
    if plan.is_half:
        meta = object_codec.meta(left.value)
        is_removed = await carry_out(api, deletion.removal(left, meta)) is not None or await _is_gone(api, left.key, meta.uid)
        return msgspec.structs.replace(plan, left=left, removes=is_removed)
    return msgspec.structs.replace(plan, left=left)


async def _is_gone(api: Api, key: str, uid: str) -> bool:
    """Whether another request removed the object first."""
    found = await api.store.read(key)
    return found is None or object_codec.meta(found.value).uid != uid


def _gone(api: Api, at: Target, left: Record, meta: Meta, form: Form) -> Answer:
    if str(at.resource.group_resource) in RETURNED or at.resource.group == "resource.k8s.io":
        return responses.one(api, left, at.resource, form)
    return _done(at, meta)


def _done(at: Target, meta: Meta) -> Answer:
    return Answer(200, orjson.dumps(status.success(at.resource, name=meta.name, uid=meta.uid)))
