"""`delete`: removes the object in one guarded transaction, or marks it as being deleted if finalizers or a grace period keep it.

`api.deletion.decide` decides which of both, `objects.deletion` plans the transaction, and `commit_plan` executes it.
"""

from __future__ import annotations

import msgspec
import orjson

from probate.api import status
from probate.api.catalog import Resource
from probate.api.deletion import DefaultPropagation, PropagationPolicy, default_propagation
from probate.api.ownership import ObjectMeta
from probate.kinds.shared import system_priority_classes
from probate.server import api_errors
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.authz import tenant_check
from probate.server.codec import delete_options, negotiation, object_codec
from probate.server.codec.delete_options import DeleteOptions
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import deletion
from probate.server.objects.deletion import DeletionPlan
from probate.server.ownership import namespace_content
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys
from probate.store.contract import EmptyRange, FailedGuards, Record, Revision

MAX_TRIES = 20
KINDS_RETURNED_ON_DELETE = frozenset(
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
"""Resources whose delete returns the last state of the object, not a Status. The list is Kubernetes'."""
_PROTECTED_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
_JOB_WARNING = (
    "the pods of a deleted job are kept unless told otherwise: propagationPolicy Background deletes them, Orphan keeps them"
)


async def delete(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles a DELETE of one object."""
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = await request.read_body()
    options = await context.offloader.offload_if_large(len(body), lambda: delete_options.read(body, media, request.query))
    if options.is_unsafe:
        from probate.server.verbs import unsafe_delete  # noqa: PLC0415 rarely used

        return await unsafe_delete.remove(context, request.user, target)
    act = WriteRequest(request.user, options)
    response = await delete_object(context, target, options, form=form, act=act)
    return response._replace(warnings=default_policy_warnings(target.resource, options) + act.warnings)


def default_policy_warnings(resource: Resource, options: DeleteOptions) -> tuple[str, ...]:
    """Returns a warning if the request has no propagationPolicy and the kind's default, orphaning the dependents, may surprise."""
    return (_JOB_WARNING,) if options.policy is None and resource.kind == "Job" and _orphans_by_default(resource) else ()


def _orphans_by_default(resource: Resource) -> bool:
    return default_propagation(resource.group, resource.version, resource.kind) is DefaultPropagation.ORPHAN


async def delete_object(
    context: ServerContext,
    target: Target,
    options: DeleteOptions,
    *,
    form: Form,
    act: WriteRequest | None,
    request_name: str | None = None,
) -> Response:
    """Deletes one object. Retries if it is modified concurrently.

    `request_name` is the name that admission sees: the object's own by default, empty for a deletecollection. Without an `act`,
    admission is skipped, because the caller has run it.
    """
    _check_not_protected(target)
    if (
        target.resource.group_resource == storage_keys.NAMESPACES
        and options.orphan_dependents is False
        and options.policy is PropagationPolicy.BACKGROUND
    ):
        options = options._replace(policy=PropagationPolicy.FOREGROUND)  # as Kubernetes does, for namespaces only
    for _ in range(MAX_TRIES):
        response = await _attempt(
            context, target, options, form=form, act=act, request_name=target.name if request_name is None else request_name
        )
        if response is not None:
            return response
    raise api_errors.modified(target.resource, target.name)


def _check_not_protected(target: Target) -> None:
    if target.resource.group_resource == storage_keys.NAMESPACES and target.name in _PROTECTED_NAMESPACES:
        raise api_errors.forbidden(target.resource, target.name, "this namespace may not be deleted")
    if target.resource.plural == "priorityclasses" and target.name in system_priority_classes.VALUES:
        raise api_errors.forbidden(target.resource, target.name, "this is a system priority class and cannot be deleted")


async def _attempt(
    context: ServerContext, target: Target, options: DeleteOptions, *, form: Form, act: WriteRequest | None, request_name: str
) -> Response | None:
    """Returns the response, or None if the object was modified concurrently."""
    current = await context.store.read(storage_keys.object_key(target.resource, target.namespace or "", target.name))
    if current is None:
        raise api_errors.not_found(target.resource, target.name)
    meta = object_codec.meta(current.value)
    check_preconditions(target.resource, current, meta, options=options)
    tenant_check.check_deletable(target.resource, current)
    has_content = await namespace_content.has_content(context.store, target.resource, current)
    plan = deletion.plan_delete(target.resource, current, meta, wish=options.wish, now=context.clock.now(), has_content=has_content)
    if act is not None and plan.txn is not None and context.admission.phases.handles_delete(target):
        [served] = await context.version_converter.served(target.resource, [current])
        (await context.admission.phases.admit_delete(target, served, act, name=request_name)).release()
    if context.audit.log is not None and plan.txn is not None and not options.is_dry_run:
        context.audit.log.note_deletion(str(target.resource.group_resource), target.namespace or "", target.name, uid=meta.uid)
    committed = plan if options.is_dry_run else await commit_plan(context, plan)
    if committed is None:
        return None
    if committed.removes and not plan.removes_after_marking:
        return _removed_response(context, target, committed.record, meta=meta, form=form)
    shown = await context.version_converter.shown(target.resource, [committed.record])
    if not shown:
        return _status_response(target, meta)
    return context.responses.one(
        shown[0], target.resource, form, code=202 if options.orphan_dependents is False and not committed.removes else 200
    )


def check_preconditions(resource: Resource, current: Record, meta: ObjectMeta, *, options: DeleteOptions) -> None:
    """Raises `Conflict` unless the uid and resourceVersion preconditions hold."""
    if options.uid and options.uid != meta.uid:
        reason = f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.uid})"
        raise api_errors.conflict(resource, meta.name, reason)
    if options.resource_version and options.resource_version != str(current.revision):
        reason = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the record's ({current.revision})"
        )
        raise api_errors.conflict(resource, meta.name, reason)


async def commit_plan(context: ServerContext, plan: DeletionPlan) -> DeletionPlan | None:
    """Commits the plan and returns it with the committed revision.

    Returns None if the transaction was refused: the object has changed, or content was added to it and there is no fallback.
    """
    if plan.txn is None:
        return plan
    outcome = await context.store.commit(plan.txn)
    if isinstance(outcome, FailedGuards):
        if plan.fallback is None or not any(isinstance(guard, EmptyRange) for guard in outcome.guards):
            return None
        return await commit_plan(context, plan.fallback)  # it is removed together with the last object that it contains
    record = Record(plan.record.key, plan.record.value, Revision(outcome))
    if plan.removes_after_marking:
        meta = object_codec.meta(record.value)
        is_removed = await commit_plan(context, deletion.plan_removal(record, meta)) is not None or await _is_gone(
            context, record.key, meta.uid
        )
        return msgspec.structs.replace(plan, record=record, removes=is_removed)
    return msgspec.structs.replace(plan, record=record)


async def _is_gone(context: ServerContext, key: str, uid: str) -> bool:
    """Whether another request has removed the object."""
    latest = await context.store.read(key)
    return latest is None or object_codec.meta(latest.value).uid != uid


def _removed_response(context: ServerContext, target: Target, record: Record, *, meta: ObjectMeta, form: Form) -> Response:
    if str(target.resource.group_resource) in KINDS_RETURNED_ON_DELETE or target.resource.group == "resource.k8s.io":
        return context.responses.one(record, target.resource, form)
    return _status_response(target, meta)


def _status_response(target: Target, meta: ObjectMeta) -> Response:
    return Response(200, orjson.dumps(status.success_status(target.resource, name=meta.name, uid=meta.uid)))
