"""`eviction`: deletes a pod if its PodDisruptionBudget allows one more disruption.

The budget is charged before the pod is deleted, in a transaction guarded by the revision of the budget that was read. So two
evictions never use the same allowed disruption. Pods that are finished, pending or being deleted are evicted without charging the
budget. Pods that are not ready may be, depending on the budget's unhealthyPodEvictionPolicy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Resource
from probate.api.field_errors import FieldError, FieldPath
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.api.selectors import label_selectors
from probate.core import errors
from probate.core.errors import Details
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.codec import delete_options, negotiation, object_codec, request_body
from probate.server.codec.delete_options import DeleteOptions
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import path_identity
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys
from probate.server.subresources.binding import SUCCESS_BODY
from probate.server.verbs import delete
from probate.store import damaged_objects, pagination
from probate.store.contract import Record

MAX_TRIES = 20
MAX_DISRUPTED = 2000
"""Evicted pods that the budget's controller has not confirmed yet. More than that means that the controller does not run."""
RETRY_SECONDS = 10
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_ALLOWED = "DisruptionAllowed"
_VERSIONS = (None, "", "policy/v1", "policy/v1beta1")


class DisruptionBudget(NamedTuple):
    """A PodDisruptionBudget at the revision that was read."""

    resource: Resource
    record: Record
    value: Object

    @property
    def name(self) -> str:
        return str(self.value["metadata"]["name"])

    @property
    def status(self) -> Object:
        return self.value.get("status") or {}


async def evict(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles POST to a pod's `eviction`. Raises `TooManyRequests` (429) if a budget does not allow the eviction now."""
    options, act, warnings = await _read(context, request, target)
    for _ in range(MAX_TRIES):
        record = await context.store.read(storage_keys.object_key(target.resource, target.namespace or "", target.name))
        if record is None:
            raise api_errors.not_found(target.resource, target.name)
        pod = object_codec.loaded(record, target.resource)
        _check_preconditions(target, options, pod)
        if not await _charge_budget(context, target, pod, is_dry_run=options.is_dry_run):
            continue
        if not options.is_dry_run and not _is_deleting(pod):
            options = await _add_disruption_condition(context, target, options)
        await delete.delete_object(context, target._replace(subresource=""), options, form=form, act=None)
        return Response(201, SUCCESS_BODY, warnings=warnings + act.warnings)
    raise api_errors.modified(target.resource, target.name)


async def _read(context: ServerContext, request: Request, target: Target) -> tuple[DeleteOptions, WriteRequest, tuple[str, ...]]:
    """Parses and admits the Eviction. Returns its delete options, the admission attributes and warnings."""
    act = WriteRequest(request.user, query.write_options(request.query, "CreateOptions"))
    field_validation = act.write_options.field_validation
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    document = await context.offloader.offload_if_large(
        len(body), lambda: request_body.parse(body, media, finds_duplicates=field_validation != "Ignore")
    )
    value = document.value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body must be an Eviction")
    is_eviction = value.get("kind") in (None, "", "Eviction") and value.get("apiVersion") in _VERSIONS
    if not is_eviction or _name(value) not in {"", target.name}:
        raise errors.BadRequest(f"the body must be an Eviction of {target.name}")
    read = request_body.command(
        document, media, catalog.schema("policy", "v1", "Eviction") or Schema(), field_validation=field_validation
    )
    path_identity.check_namespace(read.object.get("metadata", {}), target)
    value = await context.admission.phases.admit_command(target, _complete(read.object, target), act)
    delete_options_body = value.get("deleteOptions") or {}
    options = delete_options.read(
        orjson.dumps(delete_options_body) if delete_options_body else b"", negotiation.JSON, request.query
    )
    # Dry run may be requested in the query or in the delete options.
    return options._replace(is_dry_run=True) if request.query.get("dryRun") else options, act, read.warnings


def _complete(value: Object, target: Target) -> Object:
    """Returns the Eviction with kind, apiVersion, name and namespace from the path."""
    meta = value.get("metadata") if isinstance(value.get("metadata"), dict) else {}
    about = {"kind": "Eviction", "apiVersion": "policy/v1"}
    return {**about, **value, "metadata": {**(meta or {}), "name": target.name, "namespace": target.namespace}}


def _name(value: Object) -> object:
    meta = value.get("metadata")
    return str(meta.get("name") or "") if isinstance(meta, dict) else ""


def _check_preconditions(target: Target, options: DeleteOptions, pod: Object) -> None:
    """Raises `Conflict` if uid or resourceVersion differ, so that no budget is charged for another pod."""
    for field, expected in (("uid", options.uid), ("resourceVersion", options.resource_version)):
        if expected and expected != pod["metadata"][field]:
            raise api_errors.conflict(
                target.resource, target.name, f"the {field} in the precondition ({expected}) does not match the pod's"
            )


async def _charge_budget(context: ServerContext, target: Target, pod: Object, *, is_dry_run: bool) -> bool:
    """Charges the pod's budget if necessary.

    Returns False if the budget was modified concurrently. Raises if it does not allow it.
    """
    if _phase(pod) in {"Succeeded", "Failed", "Pending"} or _is_deleting(pod):
        return True
    budgets = [budget async for budget in _budgets(context, target) if _selects(budget.value, pod)]
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise errors.ApiError(message)
    for budget in budgets:
        if not _is_ready(pod) and _allows_unhealthy_eviction(budget):
            return True
        return await _charge(context, budget, target.name, is_dry_run=is_dry_run)
    return True


async def _budgets(context: ServerContext, target: Target) -> Any:
    budgets = context.catalog.find("policy", "v1", "poddisruptionbudgets")
    if budgets is None:
        return
    async for page in pagination.pages(context.store, storage_keys.namespace_range(budgets, target.namespace or "")):
        if page.damaged_records:  # it may select this pod
            raise damaged_objects.read_error(page.damaged_records[0])
        for record in page.records:
            yield DisruptionBudget(budgets, record, object_codec.loaded(record, budgets))


def _selects(budget: Object, pod: Object) -> bool:
    selector, _ = label_selectors.compile_object((budget.get("spec") or {}).get("selector"), FieldPath("spec.selector"))
    return selector.matches(pod["metadata"].get("labels") or {})


def _allows_unhealthy_eviction(budget: DisruptionBudget) -> bool:
    """Whether a pod that is not ready may be evicted without charging the budget."""
    if (budget.value.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, desired = budget.status.get("currentHealthy", 0), budget.status.get("desiredHealthy", 0)
    return bool(healthy >= desired > 0)


async def _charge(context: ServerContext, budget: DisruptionBudget, pod: str, *, is_dry_run: bool) -> bool:
    _check_allowed(budget)
    status = budget.status
    remaining = status["disruptionsAllowed"] - 1
    changed = {
        **status,
        "disruptionsAllowed": remaining,
        "disruptedPods": {**(status.get("disruptedPods") or {}), pod: context.timestamp()},
    }
    if not remaining:
        changed["conditions"] = _insufficient_pods_conditions(budget, context.timestamp())
    if is_dry_run:
        return True
    written = await context.writer.commit_update(
        budget.resource, budget.record, {**budget.value, "status": changed}, is_dry_run=False
    )
    return written is not None


def _check_allowed(budget: DisruptionBudget) -> None:
    """Raises `TooManyRequests` if the budget allows no disruption, or if its status is not up to date."""
    status, allowed = budget.status, budget.status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget.value["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {budget.name} is still being processed by the server.", RETRY_SECONDS)
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED:
        message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise api_errors.forbidden(budget.resource, budget.name, message)
    if allowed <= 0:
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        raise _too_many(f"The disruption budget {budget.name} needs {desired} healthy pods and has {healthy} currently", 0)


def _too_many(reason: str, retry_after: int) -> errors.TooManyRequests:
    return errors.TooManyRequests(
        _REFUSED, Details(causes=(FieldError("DisruptionBudget", "", reason),), retry_after_seconds=retry_after)
    )


def _insufficient_pods_conditions(budget: DisruptionBudget, now: str) -> list[Object]:
    """Returns the conditions of a budget that allows no further disruption."""
    conditions = budget.status.get("conditions") or []
    generation = budget.value["metadata"].get("generation", 0)
    new = {"type": _ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "", "lastTransitionTime": now}
    return [*(condition for condition in conditions if condition["type"] != _ALLOWED), {**new, "observedGeneration": generation}]


async def _add_disruption_condition(context: ServerContext, target: Target, options: DeleteOptions) -> DeleteOptions:
    """Adds the DisruptionTarget condition to the pod. Best effort: gives up on a pod that is modified all the time.

    Returns delete options whose resourceVersion precondition, if any, matches the pod after this write.
    """
    for _ in range(MAX_TRIES):
        record = await context.store.read(storage_keys.object_key(target.resource, target.namespace or "", target.name))
        if record is None:
            break
        pod = object_codec.loaded(record, target.resource)
        _check_preconditions(target, options, pod)
        status = pod.get("status") or {}
        other_conditions = [condition for condition in status.get("conditions") or [] if condition["type"] != "DisruptionTarget"]
        details = {
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastTransitionTime": context.timestamp(),
        }
        if "generation" in pod["metadata"]:
            details["observedGeneration"] = pod["metadata"]["generation"]
        pod["status"] = {**status, "conditions": [*other_conditions, {"type": "DisruptionTarget", "status": "True", **details}]}
        written = await context.writer.commit_update(target.resource, record, pod, is_dry_run=False)
        if written is not None:
            return options._replace(resource_version=str(written.revision) if options.resource_version else "")
    return options


def _phase(pod: Object) -> object:
    return (pod.get("status") or {}).get("phase")


def _is_deleting(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
