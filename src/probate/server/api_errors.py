"""The refusals that verbs share, each said in one place."""

from __future__ import annotations

from collections.abc import Sequence

from probate.api import status
from probate.api.catalog import Resource
from probate.api.field_errors import MAX_PROBLEMS, Problem, cut
from probate.core import errors
from probate.core.errors import Details

MAX_NAME_BYTES = 253
"""Of any name that there can be."""


def not_found(resource: Resource, name: str) -> errors.NotFound:
    """There is no object of this name."""
    return errors.NotFound(f'{resource.group_resource} "{name}" not found', _about(resource, name))


def already_exists(resource: Resource, name: str) -> errors.AlreadyExists:
    """There is one already."""
    return errors.AlreadyExists(f'{resource.group_resource} "{name}" already exists', _about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> errors.Conflict:
    """It is not as the request expects it."""
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return errors.Conflict(message, _about(resource, name))


def changed(resource: Resource, name: str) -> errors.Conflict:
    """Somebody changed it since it was read."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def forbidden(resource: Resource, name: str, why: str) -> errors.Forbidden:
    """It is not allowed, whoever asks."""
    return errors.Forbidden(f'{resource.group_resource} "{name}" is forbidden: {why}', _about(resource, name))


def invalid(resource: Resource, name: str, problems: Sequence[Problem]) -> errors.Invalid:
    """Fields of the object are wrong."""
    told = problems[:MAX_PROBLEMS]
    shown = name if len(name) <= MAX_NAME_BYTES else cut(name)
    details = Details(name=shown, group=resource.group, kind=resource.kind, causes=tuple(told))
    return errors.Invalid(status.describe(resource.kind, resource.group, shown, list(told)), details)


def invalid_options(kind: str, problems: Sequence[Problem]) -> errors.Invalid:
    """The request's options are wrong."""
    details = Details(group="meta.k8s.io", kind=kind, causes=tuple(problems))
    return errors.Invalid(status.describe(kind, "meta.k8s.io", None, list(problems)), details)


def no_such_resource() -> errors.NotFound:
    """Nothing is served at this path."""
    return errors.NotFound("the server could not find the requested resource")


def no_such_path(path: str) -> errors.NoSuchPath:
    """Nothing is served here, not even another version of it."""
    return errors.NoSuchPath(f"404 page not found: nothing is served at {path}. GET /apis lists what is")


def method_not_allowed(resource: Resource | None = None) -> errors.MethodNotAllowed:
    """The resource does not have this verb."""
    about = None if resource is None else Details(group=resource.group, kind=resource.plural)
    return errors.MethodNotAllowed("the server does not allow this method on the requested resource", about)


def _about(resource: Resource, name: str) -> Details:
    return Details(name=name, group=resource.group, kind=resource.plural)
