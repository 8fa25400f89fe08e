"""Constructors of the API errors that verbs share. Texts are Kubernetes' own where Kubernetes has the error."""

from __future__ import annotations

from collections.abc import Sequence

from probate.api import status
from probate.api.catalog import Resource
from probate.api.field_errors import MAX_FIELD_ERRORS, FieldError, truncate_name
from probate.core import errors
from probate.core.errors import Details

MAX_NAME_BYTES = 253
"""The longest name that an object can have."""


def not_found(resource: Resource, name: str) -> errors.NotFound:
    """The object does not exist."""
    return errors.NotFound(f'{resource.group_resource} "{name}" not found', _details(resource, name))


def already_exists(resource: Resource, name: str) -> errors.AlreadyExists:
    """An object of this name already exists."""
    return errors.AlreadyExists(f'{resource.group_resource} "{name}" already exists', _details(resource, name))


def conflict(resource: Resource, name: str, reason: str) -> errors.Conflict:
    """The object is not in the state that the request expects (409)."""
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {reason}'
    return errors.Conflict(message, _details(resource, name))


def modified(resource: Resource, name: str) -> errors.Conflict:
    """The object has been modified since the client, or the server, read it (409)."""
    reason = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, reason)


def forbidden(resource: Resource, name: str, reason: str) -> errors.Forbidden:
    """The request is not allowed for any user (403)."""
    return errors.Forbidden(f'{resource.group_resource} "{name}" is forbidden: {reason}', _details(resource, name))


def invalid(resource: Resource, name: str, problems: Sequence[FieldError]) -> errors.Invalid:
    """Fields of the object are invalid (422)."""
    reported = problems[:MAX_FIELD_ERRORS]
    shown_name = name if len(name) <= MAX_NAME_BYTES else truncate_name(name)
    details = Details(name=shown_name, group=resource.group, kind=resource.kind, causes=tuple(reported))
    return errors.Invalid(status.invalid_message(resource.kind, resource.group, shown_name, field_errors=list(reported)), details)


def invalid_options(kind: str, problems: Sequence[FieldError]) -> errors.Invalid:
    """The options of the request are invalid (422)."""
    details = Details(group="meta.k8s.io", kind=kind, causes=tuple(problems))
    return errors.Invalid(status.invalid_message(kind, "meta.k8s.io", None, field_errors=list(problems)), details)


def resource_not_found() -> errors.NotFound:
    """No such resource is served in this group and version (404)."""
    return errors.NotFound("the server could not find the requested resource")


def path_not_found(path: str) -> errors.PathNotFound:
    """Nothing is served at this path, in any version (404)."""
    return errors.PathNotFound(f"404 page not found: nothing is served at {path}. GET /apis lists what is")


def method_not_allowed(resource: Resource | None = None) -> errors.MethodNotAllowed:
    """The resource does not support this method (405)."""
    details = None if resource is None else Details(group=resource.group, kind=resource.plural)
    return errors.MethodNotAllowed("the server does not allow this method on the requested resource", details)


def _details(resource: Resource, name: str) -> Details:
    return Details(name=name, group=resource.group, kind=resource.plural)
