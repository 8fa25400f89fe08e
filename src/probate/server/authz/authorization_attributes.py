"""Translates requests into authorization attributes: verb, resource, namespace and name, or a path."""

from __future__ import annotations

import re

from probate.api.rbac.policy_rules import NonResourceAttributes, ResourceAttributes
from probate.server import query
from probate.server.request import Request, RequestInfo, Target

OWN_GROUP = "/apis/probate.dev/v1alpha1/"
"""The path of Probate's own API. It is authorized as a resource, so that the right to read discovery does not include it."""
_ONE_NAME = re.compile(r"metadata\.name==?([^,=!\\]+)")


def for_resource(request: Request, asked: RequestInfo) -> ResourceAttributes:
    """Returns the attributes of a request for a resource."""
    verb, at = asked
    resource, namespace, name = at.resource, at.namespace or "", at.name
    if resource.plural == "namespaces" and not resource.group:
        namespace = name  # so that a Role in a namespace can grant rights to the namespace itself
    if not name and verb in {"list", "watch"} and "fieldSelector" in request.query:
        name = _selected_name(query.first_value(request.query, "fieldSelector"))
    return ResourceAttributes(verb, resource.group, resource.plural, at.subresource, namespace, name)


def for_object(verb: str, at: Target) -> ResourceAttributes:
    """Returns the attributes of an operation on the object itself, even if only a subresource of it is written."""
    is_namespace = at.resource.plural == "namespaces" and not at.resource.group
    return ResourceAttributes(
        verb, at.resource.group, at.resource.plural, "", at.name if is_namespace else at.namespace or "", at.name
    )


def for_create(at: Target) -> ResourceAttributes:
    """Returns the attributes of the create that an update or apply of a missing object needs in addition."""
    return ResourceAttributes("create", at.resource.group, at.resource.plural, "", at.namespace or "", at.name)


def for_path(request: Request) -> ResourceAttributes | NonResourceAttributes:
    """Returns the attributes of a request for a path that is not a resource."""
    method = request.method.lower()
    if request.path.startswith(OWN_GROUP):
        return ResourceAttributes("get", "probate.dev", request.path.removeprefix(OWN_GROUP))
    return NonResourceAttributes(method, request.path)


def _selected_name(selector: str) -> str:
    """Returns the one name that the selector of a list allows, or an empty string."""
    selected = [match[1] for part in selector.split(",") if (match := _ONE_NAME.fullmatch(part.strip()))]
    return selected[0] if len(selected) == 1 else ""
