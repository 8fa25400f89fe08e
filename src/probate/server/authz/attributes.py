"""What a request asks for, in the words of rules."""

from __future__ import annotations

import re

from probate.api.rbac.policy_rules import Ask, AskPath
from probate.server import query
from probate.server.request import Asked, Request, Target

OWN_GROUP = "/apis/probate.dev/v1alpha1/"
"""Where our own questions are. They are no paths like others: who may see the kinds there are may not ask them."""
_ONE_NAME = re.compile(r"metadata\.name==?([^,=!\\]+)")


def about_resource(request: Request, asked: Asked) -> Ask:
    """May a resource be used so?"""
    verb, at = asked
    resource, namespace, name = at.resource, at.namespace or "", at.name
    if resource.plural == "namespaces" and not resource.group:
        namespace = name  # so that a role within a namespace can be about the namespace itself
    if not name and verb in {"list", "watch"} and "fieldSelector" in request.query:
        name = _selected(query.first(request.query, "fieldSelector"))
    return Ask(verb, resource.group, resource.plural, at.subresource, namespace, name)


def about_object(verb: str, at: Target) -> Ask:
    """May this be done to the object itself, of which perhaps a part is written?"""
    is_namespace = at.resource.plural == "namespaces" and not at.resource.group
    return Ask(verb, at.resource.group, at.resource.plural, "", at.name if is_namespace else at.namespace or "", at.name)


def about_new(at: Target) -> Ask:
    """May an object be created that was to be changed, and is not there?"""
    return Ask("create", at.resource.group, at.resource.plural, "", at.namespace or "", at.name)


def about_path(request: Request) -> Ask | AskPath:
    """May something be asked that is no resource?"""
    method = request.method.lower()
    if request.path.startswith(OWN_GROUP):
        return Ask("get", "probate.dev", request.path.removeprefix(OWN_GROUP))
    return AskPath(method, request.path)


def _selected(selector: str) -> str:
    """The one name that a list is limited to; empty if it is not."""
    found = [match[1] for part in selector.split(",") if (match := _ONE_NAME.fullmatch(part.strip()))]
    return found[0] if len(found) == 1 else ""
