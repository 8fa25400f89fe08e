"""`scale`: how many replicas an object wants, for any kind that has them.

What is read and written is an autoscaling/v1 Scale; what changes is one number of the object behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probate import errors
from probate.machinery import builtin, mergepatch, problems
from probate.machinery.catalog import Resource
from probate.machinery.problems import Path
from probate.machinery.schema import Schema
from probate.server import negotiation, places, query, reading, refusals, shaping, wire, writing
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.server.verbs import patch
from probate.store.contract import Record

MAX_TRIES = 20


async def answer(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Read the scale, or change it."""
    if request.method in {"GET", "HEAD"}:
        return _shown(at, await _read(api, at), form)
    options = query.write_options(request.query, "PatchOptions" if request.method == "PATCH" else "UpdateOptions")
    body = await request.read_body()
    media = negotiation.media_type(request.header("content-type"))
    for _ in range(MAX_TRIES):
        now = await _read(api, at)
        wanted = _wanted(body, media, of(wire.loaded(now, at.resource)), at, is_patch=request.method == "PATCH")
        written = await _write(api, at, now, wanted, is_dry_run=options.is_dry_run)
        if written is not None:
            return _shown(at, written, form)
    raise refusals.changed(at.resource, at.name)


def of(object_: dict[str, Any]) -> dict[str, Any]:
    """The Scale of an object."""
    meta, spec, status = object_["metadata"], object_.get("spec") or {}, object_.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    shown: dict[str, Any] = {"replicas": status.get("replicas", 0)}
    selector = _selector(spec.get("selector"))
    if selector:
        shown["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": shown,
    }


def _selector(selector: Any) -> str:
    """The object's selector as text. (A ReplicationController's is plain labels.)"""
    if not isinstance(selector, Mapping):
        return ""
    labels = selector.get("matchLabels") if "matchLabels" in selector or "matchExpressions" in selector else selector
    terms = [f"{name}={value}" for name, value in sorted((labels or {}).items())]
    terms += [_term(one) for one in selector.get("matchExpressions") or []]
    return ",".join(terms)


def _term(one: Mapping[str, Any]) -> str:
    key, values = str(one["key"]), ",".join(sorted(one.get("values") or []))
    spelled = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
    return spelled.get(one["operator"], f"!{key}")


async def _read(api: Api, at: Target) -> Record:
    found = await api.store.read(places.of(at.resource, at.namespace or "", at.name))
    if found is None:
        raise refusals.not_found(at.resource, at.name)
    return found


def _wanted(body: bytes, media: str, scale: dict[str, Any], at: Target, *, is_patch: bool) -> dict[str, Any]:
    """The Scale that the request wants."""
    if is_patch:
        change = patch.change_of(body, media, _SCALES)
        value = change(scale)
    else:
        value = mergepatch.apply({}, reading.parse(body, media).value)
    if not isinstance(value, dict) or value.get("kind", "Scale") != "Scale":
        raise errors.BadRequest("what is written to scale must be a Scale")
    meta = value.get("metadata") or {}
    if meta.get("name", at.name) != at.name:
        raise errors.BadRequest(f"the name of the object ({meta['name']}) does not match the name on the URL ({at.name})")
    if meta.get("resourceVersion") not in {None, "", scale["metadata"]["resourceVersion"]}:
        raise refusals.changed(at.resource, at.name)
    return value


async def _write(api: Api, at: Target, now: Record, scale: dict[str, Any], *, is_dry_run: bool) -> Record | None:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise errors.BadRequest("spec.replicas must be of type integer")
    if replicas < 0:
        problem = problems.invalid(Path("spec.replicas"), replicas, "must be greater than or equal to 0")
        raise refusals.invalid(_SCALES, at.name, [problem])
    old = wire.loaded(now, at.resource)
    new = {**old, "metadata": dict(old["metadata"]), "spec": {**(old.get("spec") or {}), "replicas": replicas}}
    writing.prepare_changed(api, at._replace(subresource=""), new, old)
    return await writing.replace(api, now, new, is_dry_run=is_dry_run)


def _shown(at: Target, record: Record, form: Form) -> Answer:
    return shaping.finish(of(wire.loaded(record, at.resource)), form)


_SCALES = Resource(
    group="autoscaling",
    version="v1",
    plural="scales",
    kind="Scale",
    singular="scale",
    is_namespaced=True,
    verbs=(),
    load_schema=lambda: builtin.schema("autoscaling", "v1", "Scale") or Schema(),
)
