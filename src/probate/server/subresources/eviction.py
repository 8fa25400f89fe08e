"""`eviction`: a pod is deleted if every disruption budget that covers it allows one more."""

from __future__ import annotations

from typing import Any

import orjson

from probate import errors
from probate.errors import Details
from probate.machinery import label_selectors
from probate.machinery.problems import Path, Problem
from probate.server import delete_options, negotiation, places, reading, refusals, wire
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.server.subresources.binding import DONE
from probate.server.verbs import delete
from probate.store import paging


async def answer(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Evict the pod. 429 if a budget does not allow it now: try again later."""
    body, media = await request.read_body(), negotiation.media_type(request.header("content-type"))
    value = (await api.apart(len(body), lambda: reading.parse(body, media))).value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body must be an Eviction")
    if value.get("kind") not in (None, "", "Eviction") or _name(value) not in {"", at.name}:
        raise errors.BadRequest(f"the body must be an Eviction of {at.name}")
    given = value.get("deleteOptions") or {}
    options = delete_options.read(orjson.dumps(given) if given else b"", negotiation.JSON, request.query)
    if request.query.get("dryRun"):  # given there or in the options: nothing is done
        options = options._replace(is_dry_run=True)
    pod = await api.store.read(places.of(at.resource, at.namespace or "", at.name))
    if pod is None:
        raise refusals.not_found(at.resource, at.name)
    if wire.loaded(pod, at.resource).get("status", {}).get("phase") not in {"Succeeded", "Failed"}:
        await _check_budgets(api, at, wire.meta(pod.value).labels)
    await delete.delete_one(api, at._replace(subresource=""), options, form)
    return Answer(201, DONE)


def _name(value: dict[str, Any]) -> object:
    meta = value.get("metadata")
    return str(meta.get("name") or "") if isinstance(meta, dict) else ""


async def _check_budgets(api: Api, at: Target, labels: dict[str, str]) -> None:
    budgets = api.catalog.find("policy", "v1", "poddisruptionbudgets")
    if budgets is None:
        return
    async for page in paging.pages(api.store, places.within(budgets, at.namespace or "")):
        for record in page.records:
            _check(wire.loaded(record, budgets), labels)


def _check(budget: dict[str, Any], labels: dict[str, str]) -> None:
    selector, _ = label_selectors.compile_object((budget.get("spec") or {}).get("selector"), Path("spec.selector"))
    if not selector.matches(labels) or (budget.get("status") or {}).get("disruptionsAllowed", 0) > 0:
        return
    name = budget["metadata"]["name"]
    cause = Problem("DisruptionBudget", "", f"the disruption budget {name} allows no disruption now")
    raise errors.TooManyRequests(
        "Cannot evict pod as it would violate the pod's disruption budget.", Details(causes=(cause,), retry_after_seconds=10)
    )
