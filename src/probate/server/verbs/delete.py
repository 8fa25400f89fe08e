"""`delete`: an object goes, or is marked to go once nothing holds it any more."""

from __future__ import annotations

import orjson

from probate.machinery import status
from probate.machinery.catalog import Resource
from probate.server import delete_options, negotiation, places, refusals, shaping, wire
from probate.server.api import Answer, Api
from probate.server.delete_options import DeleteOptions
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.store import contract
from probate.store.contract import Record, Refused, Revision

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


async def delete(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Delete the object."""
    media = negotiation.media_type(request.header("content-type"))
    options = delete_options.read(await request.read_body(), media, request.query)
    return await delete_one(api, at, options, form)


async def delete_one(api: Api, at: Target, options: DeleteOptions, form: Form) -> Answer:
    """Delete this object; again, if somebody changes it meanwhile."""
    if at.resource.plural == "namespaces" and not at.resource.group and at.name in _UNDELETABLE:
        raise refusals.forbidden(at.resource, at.name, "this namespace may not be deleted")
    for _ in range(MAX_TRIES):
        answer = await _attempt(api, at, options, form)
        if answer is not None:
            return answer
    raise refusals.changed(at.resource, at.name)


async def _attempt(api: Api, at: Target, options: DeleteOptions, form: Form) -> Answer | None:
    """The answer; None if somebody changed the object in between."""
    now = await api.store.read(places.of(at.resource, at.namespace or "", at.name))
    if now is None:
        raise refusals.not_found(at.resource, at.name)
    meta = wire.meta(now.value)
    check_preconditions(at.resource, now, meta, options)
    if meta.finalizers:
        return await _mark(api, at, now, meta, options, form)
    left = await remove(api, now, is_dry_run=options.is_dry_run)
    return None if left is None else _gone(api, at, left, meta, form)


def check_preconditions(resource: Resource, now: Record, meta: wire.Meta, options: DeleteOptions) -> None:
    """`Conflict` if the object is not the one that the request means."""
    if options.uid and options.uid != meta.uid:
        why = f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.uid})"
        raise refusals.conflict(resource, meta.name, why)
    if options.resource_version and options.resource_version != str(now.revision):
        why = f"the ResourceVersion in the precondition ({options.resource_version}) does not match the record's ({now.revision})"
        raise refusals.conflict(resource, meta.name, why)


async def remove(api: Api, now: Record, *, is_dry_run: bool) -> Record | None:
    """The object as it was last, at the revision at which it went; None if it was changed meanwhile."""
    if is_dry_run:
        return now
    outcome = await api.store.commit(contract.delete(now.key, revision=now.revision))
    return None if isinstance(outcome, Refused) else Record(now.key, now.value, Revision(outcome))


async def _mark(api: Api, at: Target, now: Record, meta: wire.Meta, options: DeleteOptions, form: Form) -> Answer | None:
    """Finalizers hold it: say since when it is to go."""
    marked = now
    if meta.deletion_timestamp is None:
        object_ = wire.loaded(now, at.resource)
        about = object_["metadata"]
        about |= {"deletionTimestamp": api.now(), "deletionGracePeriodSeconds": 0}
        if about.get("generation"):
            about["generation"] += 1
        value = wire.stored(object_)
        outcome = (
            now.revision if options.is_dry_run else await api.store.commit(contract.update(now.key, value, revision=now.revision))
        )
        if isinstance(outcome, Refused):
            return None
        marked = Record(now.key, value, Revision(outcome))
    code = 202 if options.orphan_dependents is False else 200
    return shaping.one(api, marked, at.resource, form, code=code)


def _gone(api: Api, at: Target, left: Record, meta: wire.Meta, form: Form) -> Answer:
    if str(at.resource.group_resource) in RETURNED or at.resource.group == "resource.k8s.io":
        return shaping.one(api, left, at.resource, form)
    return Answer(200, orjson.dumps(status.success(at.resource, name=meta.name, uid=meta.uid)))
