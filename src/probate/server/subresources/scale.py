"""`scale`: how many replicas an object wants, for any kind that has them.

What is read and written is an autoscaling/v1 Scale; what changes is one number of the object behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.crds import resources
from probate.api.documents import Document
from probate.api.field_errors import Path
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import label_selectors
from probate.core import errors
from probate.kinds import tables
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.admission.attributes import UPDATE, Act, View
from probate.server.codec import negotiation, object_codec, patch_result, request_body, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import managed_fields, path_identity, write
from probate.server.request import Request, Target
from probate.server.verbs import apply, patch
from probate.store.contract import Record

MAX_TRIES = 20


class Paths(NamedTuple):
    """Where a kind keeps what its scale shows, each as the names on the way."""

    wanted: tuple[str, ...] = ("spec", "replicas")
    actual: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


async def answer(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Read the scale, or change it."""
    paths = _paths(api, at.resource)
    if request.method in {"GET", "HEAD"}:
        return _shown(api, at, await _read(api, at), form, paths)
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    if request.method == "PATCH" and media == apply.MEDIA:
        done = await apply.carry_out(api, request, at, lambda document: _of_parent(document, at, paths), _view(paths))
        return _shown(api, at, done.record, form, paths, done.warnings)
    options = query.write_options(request.query, "PatchOptions" if request.method == "PATCH" else "UpdateOptions")
    body, manager = await request.read_body(), managed_fields.manager(request, options.field_manager)
    act = Act(request.user, options, _view(paths))
    for _ in range(MAX_TRIES):
        now = await _read(api, at)
        scale = of(object_codec.loaded(now, at.resource), paths)
        read = await api.apart(
            len(body),
            lambda: _wanted(body, media, scale, at, options.field_validation, is_patch=request.method == "PATCH"),  # noqa: B023
        )
        written = await _write(api, at, now, read.object, paths, manager, act)
        if written is not None:
            return _shown(api, at, written, form, paths, read.warnings + act.warnings)
    raise api_errors.changed(at.resource, at.name)


def _paths(api: Api, resource: Resource) -> Paths:
    if not resource.is_custom:
        return Paths()
    name = f"{resource.plural}.{resource.group}"
    definition = next(one for one in api.kinds.definitions() if one["metadata"]["name"] == name)
    found = resources.scale_paths(definition, resource.version)
    if found is None:
        raise api_errors.no_such_resource()
    return Paths(*(tuple(path.strip(".").split(".")) if path else () for path in found))


def of(object_: dict[str, Any], paths: Paths) -> dict[str, Any]:
    """The Scale of an object."""
    meta = object_["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    wanted, actual = _found(object_, paths.wanted), _found(object_, paths.actual)
    shown: dict[str, Any] = {"replicas": actual if isinstance(actual, int) else 0}
    selector = _found(object_, paths.selector) if paths.selector else ""
    text = selector if isinstance(selector, str) else _selector(selector)
    if text:
        shown["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": wanted} if isinstance(wanted, int) and wanted else {},
        "status": shown,
    }


def _found(object_: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        object_ = object_.get(name) if isinstance(object_, dict) else None
    return object_


def _with(object_: dict[str, Any], path: tuple[str, ...], value: int) -> dict[str, Any]:
    """A copy that has the value at this path."""
    name, *rest = path
    inner = object_.get(name)
    return {**object_, name: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value}


def _selector(selector: Any) -> str:
    """The object's selector as text. (A ReplicationController's is plain labels.)"""
    if not isinstance(selector, dict):
        return ""
    is_plain = "matchLabels" not in selector and "matchExpressions" not in selector
    compiled, found = label_selectors.compile_object({"matchLabels": selector} if is_plain else selector, Path("spec.selector"))
    return "" if found else str(compiled)


async def _read(api: Api, at: Target) -> Record:
    found = await version_conversion.read(api, at)
    if found is None:
        raise api_errors.not_found(at.resource, at.name)
    return found


def _wanted(
    body: bytes, media: str, scale: dict[str, Any], at: Target, field_validation: str, *, is_patch: bool
) -> request_body.Read:
    """The Scale that the request wants."""
    if is_patch:
        change, odd = patch.patch_in(body, media, _CUSTOM_SCALES if at.resource.is_custom else _SCALES, field_validation)
        made = Document(change(scale), [])
        with patch_result.blamed():
            wanted = _typed(made, media, field_validation, odd)
    else:
        wanted = _typed(request_body.parse(body, media, finds_duplicates=field_validation != "Ignore"), media, field_validation)
    meta = wanted.object.get("metadata", {})
    path_identity.check(meta, at)
    is_other = meta.get("uid") not in {None, "", scale["metadata"]["uid"]}
    if is_other or meta.get("resourceVersion") not in {None, "", "0", scale["metadata"]["resourceVersion"]}:
        raise api_errors.changed(at.resource, at.name)
    return wanted


def _typed(document: Document, media: str, field_validation: str, odd: Sequence[str] = ()) -> request_body.Read:
    if not isinstance(document.value, dict):
        raise errors.BadRequest("what is written to scale must be a Scale")
    request_body.check_kind(document.value, _SCALES)
    return request_body.command(document, media, _SCALES.load_schema(), field_validation, odd)


def _view(paths: Paths) -> View:
    """What admission sees of the object."""

    def take(object_: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
        read: dict[str, Any] = typed.Reader(lambda _: None).read(changed, _SCALES.load_schema())
        return _with({**object_, "metadata": dict(object_["metadata"])}, paths.wanted, _replicas(read))

    return View(lambda object_: of(object_, paths), take)


def _replicas(scale: dict[str, Any]) -> int:
    replicas: int = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        problem = field_errors.invalid(Path("spec.replicas"), replicas, "must be greater than or equal to 0")
        raise api_errors.invalid(_SCALES, scale.get("metadata", {}).get("name", ""), [problem])
    return replicas


async def _write(api: Api, at: Target, now: Record, scale: dict[str, Any], paths: Paths, manager: str, act: Act) -> Record | None:
    old = object_codec.loaded(now, at.resource)
    scale = {**scale, "metadata": {**scale.get("metadata", {}), "name": at.name}}
    new = _with({**old, "metadata": dict(old["metadata"])}, paths.wanted, _replicas(scale))
    act.is_mutable = api.admission.mutates(UPDATE, at)
    write.prepare_changed(api, at, new, old, managed_fields.updater(api.kinds, at, new, old, manager, api.now()), act)
    return await write.write(api, at, now, new, act)


def _of_parent(document: dict[str, Any], at: Target, paths: Paths) -> dict[str, Any]:
    """An applied Scale as a document about the object that it is of."""
    request_body.check_kind(document, _SCALES)
    replicas = _found(document, ("spec", "replicas"))
    said = {} if replicas is None else _with({}, paths.wanted, replicas)
    about = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}
    meta = document.get("metadata")
    if isinstance(meta, dict):  # what else it says of the object is not written through its scale
        meta = {name: value for name, value in meta.items() if name in _MEANT}
    return {**about, "metadata": meta, **said}


def _shown(api: Api, at: Target, record: Record, form: Form, paths: Paths, warnings: tuple[str, ...] = ()) -> Answer:
    scale = of(object_codec.loaded(record, at.resource), paths)
    if form.shape == "Table":
        printer = tables.printer(_SCALES.group, _SCALES.version, _SCALES.plural)
        rows = tables.rows(printer, [scale], now=api.clock.now())
        of_version = scale["metadata"]["resourceVersion"]
        shown = tables.document(
            printer.columns, rows, include_object=form.included, resource_version=of_version, version=form.version
        )
        return responses.finish(shown, form, warnings=warnings)
    return responses.one_made(scale, form, warnings=warnings)


_MEANT = ("name", "namespace", "uid", "resourceVersion", "managedFields")
"""What a Scale says about which object it is of. (Nobody applies managedFields: they are refused.)"""
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
"""Those of custom kinds take no other patches than their objects do."""
