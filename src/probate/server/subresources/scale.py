"""`scale`: reads and writes the number of replicas of any kind that has them, as an autoscaling/v1 Scale.

A write changes one number of the object behind the Scale.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.crds import resources
from probate.api.field_errors import FieldPath
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import label_selectors
from probate.api.serialization.documents import Document
from probate.core import errors
from probate.kinds import tables
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission.admission_attributes import UPDATE, ObjectView, WriteRequest
from probate.server.codec import negotiation, object_codec, patch_result, request_body, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, path_identity
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.verbs import apply, patch
from probate.store.contract import Record

MAX_TRIES = 20


class ScalePaths(NamedTuple):
    """The field paths behind a kind's Scale, each as a tuple of field names."""

    desired: tuple[str, ...] = ("spec", "replicas")
    actual: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


async def handle_scale(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles GET, PUT and PATCH of `scale`."""
    paths = _paths(context, target.resource)
    if request.method in {"GET", "HEAD"}:
        return _response(context, target, await _read(context, target), form=form, paths=paths)
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    if request.method == "PATCH" and media == apply.MEDIA_TYPE:
        result = await apply.apply_document(
            context, request, target, translate=lambda document: _to_parent(document, target, paths), view=_view(paths)
        )
        return _response(context, target, result.record, form=form, paths=paths, warnings=result.warnings)
    options = query.write_options(request.query, "PatchOptions" if request.method == "PATCH" else "UpdateOptions")
    body, manager = await request.read_body(), managed_fields.field_manager(request, options.field_manager)
    act = WriteRequest(request.user, options, _view(paths))
    for _ in range(MAX_TRIES):
        current = await _read(context, target)
        scale = build_scale(object_codec.loaded(current, target.resource), paths)
        read_scale = functools.partial(_requested_scale, body, media, scale, target=target, is_patch=request.method == "PATCH")
        read = await context.offloader.offload_if_large(
            len(body), functools.partial(read_scale, field_validation=options.field_validation)
        )
        record = await _write(context, target, current, scale=read.object, paths=paths, manager=manager, act=act)
        if record is not None:
            return _response(context, target, record, form=form, paths=paths, warnings=read.warnings + act.warnings)
    raise api_errors.modified(target.resource, target.name)


def _paths(context: ServerContext, resource: Resource) -> ScalePaths:
    if not resource.is_custom:
        return ScalePaths()
    name = f"{resource.plural}.{resource.group}"
    crd = next(crd for crd in context.kinds.crds() if crd["metadata"]["name"] == name)
    paths = resources.scale_paths(crd, resource.version)
    if paths is None:
        raise api_errors.resource_not_found()
    return ScalePaths(*(tuple(path.strip(".").split(".")) if path else () for path in paths))


def build_scale(object_: dict[str, Any], paths: ScalePaths) -> dict[str, Any]:
    """Returns the Scale of an object."""
    meta = object_["metadata"]
    identity_fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    desired, actual = _value_at(object_, paths.desired), _value_at(object_, paths.actual)
    scale_status: dict[str, Any] = {"replicas": actual if isinstance(actual, int) else 0}
    selector = _value_at(object_, paths.selector) if paths.selector else ""
    selector_text = selector if isinstance(selector, str) else _selector(selector)
    if selector_text:
        scale_status["selector"] = selector_text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in identity_fields if name in meta},
        "spec": {"replicas": desired} if isinstance(desired, int) and desired else {},
        "status": scale_status,
    }


def _value_at(object_: Any, path: tuple[str, ...]) -> Any:
    """Returns the value at this path, or None."""
    for name in path:
        object_ = object_.get(name) if isinstance(object_, dict) else None
    return object_


def _with(object_: dict[str, Any], path: tuple[str, ...], value: int) -> dict[str, Any]:
    """Returns a copy with the value set at this path."""
    name, *rest = path
    inner = object_.get(name)
    return {**object_, name: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value}


def _selector(selector: Any) -> str:
    """Returns a selector as text. A ReplicationController's selector is a plain map of labels."""
    if not isinstance(selector, dict):
        return ""
    is_plain = "matchLabels" not in selector and "matchExpressions" not in selector
    compiled, problems = label_selectors.compile_object(
        {"matchLabels": selector} if is_plain else selector, FieldPath("spec.selector")
    )
    return "" if problems else str(compiled)


async def _read(context: ServerContext, target: Target) -> Record:
    record = await context.version_converter.read(target)
    if record is None:
        raise api_errors.not_found(target.resource, target.name)
    return record


def _requested_scale(
    body: bytes, media: str, scale: dict[str, Any], *, target: Target, field_validation: str, is_patch: bool
) -> request_body.Read:
    """Returns the Scale in the body, or the patched Scale. Raises `Conflict` if it names another uid or resourceVersion."""
    if is_patch:
        change, problems = patch.parse_patch(
            body, media, _CUSTOM_SCALES if target.resource.is_custom else _SCALES, field_validation=field_validation
        )
        patched = Document(change(scale), [])
        with patch_result.blamed():
            desired = _decode(patched, media, field_validation=field_validation, odd=problems)
    else:
        document = request_body.parse(body, media, finds_duplicates=field_validation != "Ignore")
        desired = _decode(document, media, field_validation=field_validation)
    meta = desired.object.get("metadata", {})
    path_identity.check_identity(meta, target)
    is_other = meta.get("uid") not in {None, "", scale["metadata"]["uid"]}
    if is_other or meta.get("resourceVersion") not in {None, "", "0", scale["metadata"]["resourceVersion"]}:
        raise api_errors.modified(target.resource, target.name)
    return desired


def _decode(document: Document, media: str, *, field_validation: str, odd: Sequence[str] = ()) -> request_body.Read:
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be a Scale")
    request_body.check_kind(document.value, _SCALES)
    return request_body.command(document, media, _SCALES.load_schema(), field_validation=field_validation, odd=odd)


def _view(paths: ScalePaths) -> ObjectView:
    """Returns the view in which admission sees the object as a Scale."""

    def take(object_: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
        read: dict[str, Any] = typed.Reader(lambda _: None).read(changed, _SCALES.load_schema())
        return _with({**object_, "metadata": dict(object_["metadata"])}, paths.desired, _replicas(read))

    return ObjectView(lambda object_: build_scale(object_, paths), take)


def _replicas(scale: dict[str, Any]) -> int:
    replicas: int = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        problem = field_errors.invalid(FieldPath("spec.replicas"), replicas, "must be greater than or equal to 0")
        raise api_errors.invalid(_SCALES, scale.get("metadata", {}).get("name", ""), [problem])
    return replicas


async def _write(
    context: ServerContext,
    target: Target,
    current: Record,
    *,
    scale: dict[str, Any],
    paths: ScalePaths,
    manager: str,
    act: WriteRequest,
) -> Record | None:
    old = object_codec.loaded(current, target.resource)
    scale = {**scale, "metadata": {**scale.get("metadata", {}), "name": target.name}}
    new = _with({**old, "metadata": dict(old["metadata"])}, paths.desired, _replicas(scale))
    act.is_mutable = context.admission.chain.mutates(UPDATE, target)
    entries = managed_fields.entries_on_update(context.kinds, target, manager, new=new, old=old, now=context.timestamp())
    context.preparer.prepare_update(target, new, old, update_entries=entries, act=act)
    return await context.writer.admit_and_commit(target, current, new, act=act)


def _to_parent(document: dict[str, Any], target: Target, paths: ScalePaths) -> dict[str, Any]:
    """Translates an applied Scale into an ApplyConfiguration of the object behind it."""
    request_body.check_kind(document, _SCALES)
    replicas = _value_at(document, ("spec", "replicas"))
    fields = {} if replicas is None else _with({}, paths.desired, replicas)
    type_meta = {"kind": target.resource.kind, "apiVersion": str(target.resource.group_version)}
    meta = document.get("metadata")
    if isinstance(meta, dict):  # other metadata is not written through the scale
        meta = {name: value for name, value in meta.items() if name in _IDENTITY_FIELDS}
    return {**type_meta, "metadata": meta, **fields}


def _response(
    context: ServerContext, target: Target, record: Record, *, form: Form, paths: ScalePaths, warnings: tuple[str, ...] = ()
) -> Response:
    scale = build_scale(object_codec.loaded(record, target.resource), paths)
    if form.shape == "Table":
        printer = tables.printer(_SCALES.group, _SCALES.version, _SCALES.plural)
        rows = tables.rows(printer, [scale], now=context.clock.now())
        resource_version = scale["metadata"]["resourceVersion"]
        table = tables.document(
            printer.columns, rows, include_object=form.included, resource_version=resource_version, version=form.version
        )
        return responses.finish(table, form, warnings=warnings)
    return responses.one_made(scale, form, warnings=warnings)


_IDENTITY_FIELDS = ("name", "namespace", "uid", "resourceVersion", "managedFields")
"""The metadata of a Scale that identifies its object. managedFields is passed on so that apply rejects it."""
_SCALES = Resource(
    group="autoscaling",
    version="v1",
    plural="scales",
    kind="Scale",
    singular="scale",
    is_namespaced=True,
    verbs=(),
    load_schema=lambda: catalog.schema("autoscaling", "v1", "Scale") or Schema(),
)
_CUSTOM_SCALES = msgspec.structs.replace(_SCALES, is_custom=True)
"""Scales of custom resources accept the same patch types as custom resources."""
