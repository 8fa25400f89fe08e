"""`eviction`: a pod is deleted if the disruption budget that covers it allows one more.

The budget is charged before the pod goes, in one transaction with what was read of it: so two evictions never share the last one
that is allowed. Pods that have ended, wait or are on their way out are nobody's loss, and those that do not serve may be one
that the budget need not be charged for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Resource
from probate.api.field_errors import Path, Problem
from probate.api.schema.node import Schema
from probate.api.selectors import label_selectors
from probate.core import errors
from probate.core.errors import Details
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission import phases
from probate.server.admission.attributes import Act
from probate.server.codec import delete_options, negotiation, object_codec, request_body
from probate.server.codec.delete_options import DeleteOptions
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import path_identity, write
from probate.server.request import Request, Target
from probate.server.storage import storage_keys
from probate.server.subresources.binding import DONE
from probate.server.verbs import delete
from probate.store import damage, paging
from probate.store.contract import Record

Object = dict[str, Any]

MAX_TRIES = 20
MAX_DISRUPTED = 2000
"""Evicted pods that nobody has seen go. If there are more, the budget's controller is not there."""
RETRY_SECONDS = 10
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_ALLOWED = "DisruptionAllowed"
_VERSIONS = (None, "", "policy/v1", "policy/v1beta1")


class Budget(NamedTuple):
    """A budget as it was read."""

    resource: Resource
    record: Record
    value: Object

    @property
    def name(self) -> str:
        return str(self.value["metadata"]["name"])

    @property
    def status(self) -> Object:
        return self.value.get("status") or {}


async def answer(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Evict the pod. 429 if a budget does not allow it now: try again later."""
    options, act, warnings = await _read(api, request, at)
    for _ in range(MAX_TRIES):
        record = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
        if record is None:
            raise api_errors.not_found(at.resource, at.name)
        pod = object_codec.loaded(record, at.resource)
        _check_is_meant(at, options, pod)
        if not await _is_charged(api, at, pod, is_dry_run=options.is_dry_run):
            continue
        if not options.is_dry_run and not _is_leaving(pod):
            options = await _note(api, at, options)
        await delete.delete_one(api, at._replace(subresource=""), options, form, None)
        return Answer(201, DONE, warnings=warnings + act.warnings)
    raise api_errors.changed(at.resource, at.name)


async def _read(api: Api, request: Request, at: Target) -> tuple[DeleteOptions, Act, tuple[str, ...]]:
    """How the pod is to be deleted, if nobody has anything against its eviction; and what is odd about the request."""
    act = Act(request.user, query.write_options(request.query, "CreateOptions"))
    how = act.write_options.field_validation
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    document = await api.apart(len(body), lambda: request_body.parse(body, media, finds_duplicates=how != "Ignore"))
    value = document.value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body must be an Eviction")
    is_eviction = value.get("kind") in (None, "", "Eviction") and value.get("apiVersion") in _VERSIONS
    if not is_eviction or _name(value) not in {"", at.name}:
        raise errors.BadRequest(f"the body must be an Eviction of {at.name}")
    read = request_body.command(document, media, catalog.schema("policy", "v1", "Eviction") or Schema(), how)
    path_identity.check_namespace(read.object.get("metadata", {}), at)
    value = await phases.check_command(api, at, _whole(read.object, at), act)
    given = value.get("deleteOptions") or {}
    options = delete_options.read(orjson.dumps(given) if given else b"", negotiation.JSON, request.query)
    # Given there or in the options: nothing is done.
    return options._replace(is_dry_run=True) if request.query.get("dryRun") else options, act, read.warnings


def _whole(value: Object, at: Target) -> Object:
    """The Eviction with all that its path says of it."""
    meta = value.get("metadata") if isinstance(value.get("metadata"), dict) else {}
    about = {"kind": "Eviction", "apiVersion": "policy/v1"}
    return {**about, **value, "metadata": {**(meta or {}), "name": at.name, "namespace": at.namespace}}


def _name(value: Object) -> object:
    meta = value.get("metadata")
    return str(meta.get("name") or "") if isinstance(meta, dict) else ""


def _check_is_meant(at: Target, options: DeleteOptions, pod: Object) -> None:
    """A budget is not charged for another pod than the one that is meant."""
    for field, wanted in (("uid", options.uid), ("resourceVersion", options.resource_version)):
        if wanted and wanted != pod["metadata"][field]:
            raise api_errors.conflict(at.resource, at.name, f"the {field} in the precondition ({wanted}) does not match the pod's")


async def _is_charged(api: Api, at: Target, pod: Object, *, is_dry_run: bool) -> bool:
    """Whether the pod may go, and its budget knows. Not so if somebody has changed the budget meanwhile."""
    if _phase(pod) in {"Succeeded", "Failed", "Pending"} or _is_leaving(pod):
        return True
    covering = [one async for one in _budgets(api, at) if _covers(one.value, pod)]
    if len(covering) > 1:
        told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise errors.ApiError(told)
    for budget in covering:
        if not _serves(pod) and _spares(budget):
            return True
        return await _charge(api, budget, at.name, is_dry_run=is_dry_run)
    return True


async def _budgets(api: Api, at: Target) -> Any:
    budgets = api.catalog.find("policy", "v1", "poddisruptionbudgets")
    if budgets is None:
        return
    async for page in paging.pages(api.store, storage_keys.within(budgets, at.namespace or "")):
        if page.damaged:  # it may cover this pod: nobody knows
            raise damage.error_of(page.damaged[0])
        for record in page.records:
            yield Budget(budgets, record, object_codec.loaded(record, budgets))


def _covers(budget: Object, pod: Object) -> bool:
    selector, _ = label_selectors.compile_object((budget.get("spec") or {}).get("selector"), Path("spec.selector"))
    return selector.matches(pod["metadata"].get("labels") or {})


def _spares(budget: Budget) -> bool:
    """Whether a pod that does not serve may go without being counted."""
    if (budget.value.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, desired = budget.status.get("currentHealthy", 0), budget.status.get("desiredHealthy", 0)
    return bool(healthy >= desired > 0)


async def _charge(api: Api, budget: Budget, pod: str, *, is_dry_run: bool) -> bool:
    _check(budget)
    status = budget.status
    left = status["disruptionsAllowed"] - 1
    changed = {**status, "disruptionsAllowed": left, "disruptedPods": {**(status.get("disruptedPods") or {}), pod: api.now()}}
    if not left:
        changed["conditions"] = _exhausted(budget, api.now())
    if is_dry_run:
        return True
    written = await write.replace(api, budget.resource, budget.record, {**budget.value, "status": changed}, is_dry_run=False)
    return written is not None


def _check(budget: Budget) -> None:
    """429 if the budget does not allow one more, or does not know yet."""
    status, allowed = budget.status, budget.status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget.value["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {budget.name} is still being processed by the server.", RETRY_SECONDS)
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED:
        told = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise api_errors.forbidden(budget.resource, budget.name, told)
    if allowed <= 0:
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        raise _too_many(f"The disruption budget {budget.name} needs {desired} healthy pods and has {healthy} currently", 0)


def _too_many(why: str, retry: int) -> errors.TooManyRequests:
    return errors.TooManyRequests(_REFUSED, Details(causes=(Problem("DisruptionBudget", "", why),), retry_after_seconds=retry))


def _exhausted(budget: Budget, now: str) -> list[Object]:
    """The conditions of a budget of which nothing is left."""
    told = budget.status.get("conditions") or []
    generation = budget.value["metadata"].get("generation", 0)
    new = {"type": _ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "", "lastTransitionTime": now}
    return [*(one for one in told if one["type"] != _ALLOWED), {**new, "observedGeneration": generation}]


async def _note(api: Api, at: Target, options: DeleteOptions) -> DeleteOptions:
    """Say on the pod why it goes. That is for people: a pod that changes all the time goes without.

    Returns the options for the pod as it is then: whoever wanted a certain version of it has got that.
    """
    for _ in range(MAX_TRIES):
        record = await api.store.read(storage_keys.of(at.resource, at.namespace or "", at.name))
        if record is None:
            break
        pod = object_codec.loaded(record, at.resource)
        _check_is_meant(at, options, pod)
        status = pod.get("status") or {}
        others = [one for one in status.get("conditions") or [] if one["type"] != "DisruptionTarget"]
        said = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting", "lastTransitionTime": api.now()}
        if "generation" in pod["metadata"]:
            said["observedGeneration"] = pod["metadata"]["generation"]
        pod["status"] = {**status, "conditions": [*others, {"type": "DisruptionTarget", "status": "True", **said}]}
        written = await write.replace(api, at.resource, record, pod, is_dry_run=False)
        if written is not None:
            return options._replace(resource_version=str(written.revision) if options.resource_version else "")
    return options


def _phase(pod: Object) -> object:
    return (pod.get("status") or {}).get("phase")


def _is_leaving(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _serves(pod: Object) -> bool:
    told = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in told)
