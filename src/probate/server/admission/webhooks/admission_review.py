"""AdmissionReviews: the request that a webhook is sent, and the checks of its response."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Resource
from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.api.schema import typed
from probate.core import errors
from probate.core.errors import Details
from probate.server.admission.admission_attributes import Attributes

GROUP = "admission.k8s.io"


class Unusable(Exception):
    """The response of a webhook cannot be used; the message says why."""


class WebhookResponse(NamedTuple):
    """The response of a webhook."""

    is_allowed: bool
    status: Object
    patch: Any  # None if there is none
    warnings: tuple[str, ...]
    annotations: dict[str, str]


class VersionedWrite(NamedTuple):
    """A write in the version that the webhook expects."""

    resource: Resource
    kind: GroupVersionKind
    object: Object | None
    old: Object | None


def encode_request(write: Attributes, converted: VersionedWrite, *, uid: str, version: str) -> bytes:
    """Returns the AdmissionReview to send."""
    at = write.at
    fields: Object = {
        "uid": uid,
        "kind": _kind(converted.kind),
        "resource": _resource(converted.resource),
        "subResource": at.subresource,
        "requestKind": _kind(write.kind),
        "requestResource": _resource(at.resource),
        "requestSubResource": at.subresource,
        "name": write.name,
        "namespace": _namespace(write),
        "operation": write.operation,
        "userInfo": write.request.user.info,
        "object": converted.object,
        "oldObject": converted.old,
        "dryRun": write.request.is_dry_run,
        "options": write.options or None,
    }
    omitted_if_empty = ("subResource", "requestSubResource", "name", "namespace")
    non_empty = {name: value for name, value in fields.items() if value or name not in omitted_if_empty}
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": non_empty})


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _namespace(write: Attributes) -> str:
    """Returns the namespace of the write. A namespace counts as being in itself, once the request names it."""
    is_namespace = write.at.resource.plural == "namespaces" and not write.at.resource.group
    return write.at.name if is_namespace else write.namespace


def decode_response(body: bytes, uid: str, version: str, *, may_patch: bool) -> WebhookResponse:
    """Returns the response. Raises `Unusable` if the body is not a valid response to this request."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unusable(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise Unusable("the answer is not an AdmissionReview")
    kind, expected = (review.get("apiVersion"), review.get("kind")), (f"{GROUP}/{version}", "AdmissionReview")
    if kind != expected and (version == "v1" or any(kind)):
        raise Unusable(f"expected webhook response of {_format_kind(expected)}, got {_format_kind(kind)}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise Unusable("webhook response was absent")
    if version == "v1" and response.get("uid") != uid:
        raise Unusable(f'expected response.uid="{uid}", got {orjson.dumps(response.get("uid") or "").decode()[:200]}')
    return _decode(response, version, may_patch=may_patch)


def _format_kind(kind: tuple[Any, Any]) -> str:
    return f"{str(kind[0] or '')[:200]}, Kind={str(kind[1] or '')[:200]}"


def _decode(response: Object, version: str, *, may_patch: bool) -> WebhookResponse:
    status, warnings = response.get("status") or {}, response.get("warnings") or []
    annotations = response.get("auditAnnotations") or {}
    is_allowed = response.get("allowed", False)
    _check_type("allowed", is_allowed, bool)
    _check_type("status", status, dict)
    _check_type("auditAnnotations", annotations, dict)
    if not isinstance(warnings, list) or not all(isinstance(warning, str) for warning in warnings):
        raise Unusable("response.warnings must be of type array of string")
    patch = _patch(response, version, may_patch=may_patch)
    audit_annotations = {str(name): str(value) for name, value in annotations.items()}
    return WebhookResponse(is_allowed, status, patch, tuple(warnings), audit_annotations)


def _check_type(name: str, value: Any, expected: type) -> None:
    if not isinstance(value, expected):
        type_name = "boolean" if expected is bool else "object"
        raise Unusable(f"response.{name} must be of type {type_name}, not {typed.type_name(value)}")


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
        raise Unusable("response.patch is not a JSON patch in base64") from None


def denial(name: str, status: Object) -> errors.ApiError:
    """Returns the error that a webhook's status describes."""
    prefix = f'admission webhook "{name}" denied the request'
    message, reason = str(status.get("message") or ""), str(status.get("reason") or "")
    message = f"{prefix}: {message or reason}" if message or reason else f"{prefix} without explanation"
    code = status.get("code")
    is_code = isinstance(code, int) and 400 <= code < 600
    return errors.Denied(message, _details(status.get("details")), code=int(code or 0) if is_code else 400, reason=reason)


def _details(details: Any) -> Details:
    if not isinstance(details, dict):
        return Details()
    name, group, kind, uid = (str(details.get(part) or "") for part in ("name", "group", "kind", "uid"))
    listed = details.get("causes")
    causes = [cause for cause in listed if isinstance(cause, dict)] if isinstance(listed, list) else []
    problems = [FieldError(*(str(cause.get(part) or "") for part in ("reason", "field", "message"))) for cause in causes]
    return Details(name, group, kind, uid, tuple(problems))
