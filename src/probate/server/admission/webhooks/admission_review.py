"""AdmissionReviews: what a webhook is asked, and what its answer has to be like to be believed."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Resource
from probate.api.field_errors import Problem
from probate.api.gvk import GroupVersionKind
from probate.api.schema import typed
from probate.core import errors
from probate.core.errors import Details
from probate.server.admission.attributes import Attributes

Object = dict[str, Any]

GROUP = "admission.k8s.io"


class Unusable(Exception):
    """Why an answer cannot be used."""


class Verdict(NamedTuple):
    """What a webhook says."""

    is_allowed: bool
    status: Object
    patch: Any  # None: there is none
    warnings: tuple[str, ...]
    annotations: dict[str, str]


class Shown(NamedTuple):
    """The write in the version that the webhook wants."""

    resource: Resource
    kind: GroupVersionKind
    object: Object | None
    old: Object | None


def request(write: Attributes, shown: Shown, uid: str, version: str) -> bytes:
    """The review that is sent."""
    at = write.at
    asked: Object = {
        "uid": uid,
        "kind": _kind(shown.kind),
        "resource": _resource(shown.resource),
        "subResource": at.subresource,
        "requestKind": _kind(write.kind),
        "requestResource": _resource(at.resource),
        "requestSubResource": at.subresource,
        "name": write.name,
        "namespace": _namespace(write),
        "operation": write.operation,
        "userInfo": write.act.user.info,
        "object": shown.object,
        "oldObject": shown.old,
        "dryRun": write.act.is_dry_run,
        "options": write.options or None,
    }
    empty = ("subResource", "requestSubResource", "name", "namespace")
    told = {name: value for name, value in asked.items() if value or name not in empty}
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": told})


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _namespace(write: Attributes) -> str:
    """A namespace is in itself, once the request names it."""
    is_namespace = write.at.resource.plural == "namespaces" and not write.at.resource.group
    return write.at.name if is_namespace else write.namespace


def verdict(body: bytes, uid: str, version: str, *, may_patch: bool) -> Verdict:
    """What the answer says. `Unusable` if it is not an answer to what was asked."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unusable(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise Unusable("the answer is no AdmissionReview")
    kind, wanted = (review.get("apiVersion"), review.get("kind")), (f"{GROUP}/{version}", "AdmissionReview")
    if kind != wanted and (version == "v1" or any(kind)):
        raise Unusable(f"expected webhook response of {_said(wanted)}, got {_said(kind)}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise Unusable("webhook response was absent")
    if version == "v1" and response.get("uid") != uid:
        raise Unusable(f'expected response.uid="{uid}", got {orjson.dumps(response.get("uid") or "").decode()[:200]}')
    return _read(response, version, may_patch=may_patch)


def _said(kind: tuple[Any, Any]) -> str:
    return f"{str(kind[0] or '')[:200]}, Kind={str(kind[1] or '')[:200]}"


def _read(response: Object, version: str, *, may_patch: bool) -> Verdict:
    status, warnings = response.get("status") or {}, response.get("warnings") or []
    annotations = response.get("auditAnnotations") or {}
    is_allowed = response.get("allowed", False)
    _check_type("allowed", is_allowed, bool)
    _check_type("status", status, dict)
    _check_type("auditAnnotations", annotations, dict)
    if not isinstance(warnings, list) or not all(isinstance(one, str) for one in warnings):
        raise Unusable("response.warnings must be of type array of string")
    patch = _patch(response, version, may_patch=may_patch)
    told = {str(name): str(value) for name, value in annotations.items()}
    return Verdict(is_allowed, status, patch, tuple(warnings), told)


def _check_type(name: str, value: Any, expected: type) -> None:
    if not isinstance(value, expected):
        wanted = "boolean" if expected is bool else "object"
        raise Unusable(f"response.{name} must be of type {wanted}, not {typed.type_name(value)}")


def _patch(response: Object, version: str, *, may_patch: bool) -> Any:
    patch, kind = response.get("patch"), response.get("patchType")
    if not patch and not kind:
        return None
    if not may_patch:
        raise Unusable("validating webhook may not return response.patch or response.patchType")
    if not kind and version == "v1":
        raise Unusable("webhook returned response.patch but not response.patchType")
    if not patch:
        raise Unusable("webhook returned response.patchType but not response.patch")
    if kind and kind != "JSONPatch":
        raise Unusable(f'webhook returned invalid response.patchType of "{str(kind)[:100]}"')
    try:
        return orjson.loads(base64.b64decode(patch, validate=True))
    except (binascii.Error, TypeError, ValueError, orjson.JSONDecodeError):
        raise Unusable("response.patch is no JSON patch in base64") from None


def denial(name: str, status: Object) -> errors.ApiError:
    """The refusal that a webhook's status stands for."""
    by = f'admission webhook "{name}" denied the request'
    message, reason = str(status.get("message") or ""), str(status.get("reason") or "")
    told = f"{by}: {message or reason}" if message or reason else f"{by} without explanation"
    code = status.get("code")
    is_code = isinstance(code, int) and 400 <= code < 600
    return errors.Denied(told, _details(status.get("details")), code=int(code or 0) if is_code else 400, reason=reason)


def _details(told: Any) -> Details:
    if not isinstance(told, dict):
        return Details()
    name, group, kind, uid = (str(told.get(part) or "") for part in ("name", "group", "kind", "uid"))
    causes = [one for one in told.get("causes") or () if isinstance(one, dict)] if isinstance(told.get("causes"), list) else []
    problems = [Problem(*(str(one.get(part) or "") for part in ("reason", "field", "message"))) for one in causes]
    return Details(name, group, kind, uid, tuple(problems))
