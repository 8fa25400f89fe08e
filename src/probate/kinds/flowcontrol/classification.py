"""Finds the FlowSchema of a request, and so its priority level: the first that matches, in the order of precedence.

A FlowSchema whose level does not exist is ignored. The server does not queue requests by level: responses only name the matching
FlowSchema and level.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.rbac.users import SERVICE_ACCOUNT_PREFIX, User, service_account_username
from probate.kinds.flowcontrol import dangling_references


class RequestTarget(NamedTuple):
    """The target of a request: a resource (with its subresource: `pods/status`) in a namespace or in none, or a path."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""


class Flow(NamedTuple):
    """The FlowSchema and priority level of a request."""

    schema: Object
    level: Object


class Classifier:
    """Classifies requests by the current FlowSchemas."""

    def __init__(self, schemas: Iterable[Object] = (), levels: Iterable[Object] = ()) -> None:
        known = {one["metadata"]["name"]: one for one in levels}
        found = [
            Flow(one, known[dangling_references.level_of(one)]) for one in schemas if dangling_references.level_of(one) in known
        ]
        self._flows = sorted(found, key=_precedence)

    def flow_of(self, user: User, about: RequestTarget) -> Flow | None:
        """Returns the flow that the request belongs to."""
        return next((one for one in self._flows if _matches(one.schema, user, about)), None)

    def only_flow_of(self, user: User) -> Flow | None:
        """Returns the flow of all resource requests of the user; None if it depends on the resources."""
        for one in self._flows:
            rules = [rule for rule in one.schema["spec"].get("rules") or () if _is_about(rule, user)]
            resource_rules = [item for rule in rules for item in rule.get("resourceRules") or ()]
            if any(map(_is_of_all, resource_rules)):
                return one
            if resource_rules:
                return None
        return None


def seats(levels: Iterable[Object], total: int) -> Mapping[str, int]:
    """Returns the number of concurrent requests of each level, by its shares of the total."""
    shares = {one["metadata"]["name"]: _shares(one.get("spec") or {}) for one in levels}
    whole = sum(shares.values())
    return {name: math.ceil(total * share / whole) if whole else 0 for name, share in shares.items()}


def _shares(spec: Object) -> int:
    given: int = (spec.get("limited") or spec.get("exempt") or {}).get("nominalConcurrencyShares") or 0
    return given


def _precedence(flow: Flow) -> tuple[int, str]:
    return flow.schema["spec"].get("matchingPrecedence") or 0, flow.schema["metadata"]["name"]


def _matches(schema: Object, user: User, about: RequestTarget) -> bool:
    return any(_is_about(rule, user) and _is_meant(rule, about) for rule in schema["spec"].get("rules") or ())


def _is_about(rule: Object, user: User) -> bool:
    return any(_is_subject(one, user) for one in rule.get("subjects") or ())


def _is_subject(subject: Object, user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return (subject.get("user") or {}).get("name") in ("*", user.name)
        case "Group":
            name = (subject.get("group") or {}).get("name")
            return name == "*" or name in user.groups
        case _:
            account = subject.get("serviceAccount") or {}
            namespace, name = account.get("namespace") or "", account.get("name") or ""
            if name == "*":
                return user.name.startswith(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:")
            return user.name == service_account_username(namespace, name)


def _is_meant(rule: Object, about: RequestTarget) -> bool:
    if about.path:
        return any(_is_path(one, about) for one in rule.get("nonResourceRules") or ())
    return any(_is_resource(one, about) for one in rule.get("resourceRules") or ())


def _is_resource(rule: Object, about: RequestTarget) -> bool:
    if not (_has(rule, "verbs", about.verb) and _has(rule, "apiGroups", about.group) and _has(rule, "resources", about.resource)):
        return False
    return _has(rule, "namespaces", about.namespace) if about.namespace else bool(rule.get("clusterScope"))


def _is_of_all(rule: Object) -> bool:
    """Reports whether the rule matches all resource requests."""
    fields = ("verbs", "apiGroups", "resources", "namespaces")
    return bool(rule.get("clusterScope")) and all("*" in (rule.get(field) or ()) for field in fields)


def _is_path(rule: Object, about: RequestTarget) -> bool:
    if not _has(rule, "verbs", about.verb):
        return False
    paths: Collection[str] = rule.get("nonResourceURLs") or ()
    return any(one in ("*", about.path) or (one.endswith("/*") and about.path.startswith(one[:-1])) for one in paths)


def _has(rule: Object, field: str, value: str) -> bool:
    found = rule.get(field) or ()
    return value in found or "*" in found
