"""Which FlowSchema a request is of, and by it which level: the first that matches, in the order of their precedence.

One that names a level which is not there counts for nothing. Nobody waits because of it: who asks is told by which one their
request would be sorted, and that is all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from probate.api.rbac.users import SERVICE_ACCOUNT, User, account_name
from probate.kinds.flowcontrol import dangling

Object = dict[str, Any]


class About(NamedTuple):
    """What is asked: of a resource (with its part: `pods/status`) in a namespace or in none, or of a path."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""


class Flow(NamedTuple):
    """What a request is sorted by."""

    schema: Object
    level: Object


class Classifier:
    """FlowSchemas as they are now."""

    def __init__(self, schemas: Iterable[Object] = (), levels: Iterable[Object] = ()) -> None:
        known = {one["metadata"]["name"]: one for one in levels}
        found = [Flow(one, known[dangling.level_of(one)]) for one in schemas if dangling.level_of(one) in known]
        self._flows = sorted(found, key=_precedence)

    def flow_of(self, user: User, about: About) -> Flow | None:
        """The flow that the request is of."""
        return next((one for one in self._flows if _matches(one.schema, user, about)), None)

    def only_flow_of(self, user: User) -> Flow | None:
        """The flow that all requests of the user are of which are about resources; None if it depends on what they are about."""
        for one in self._flows:
            rules = [rule for rule in one.schema["spec"].get("rules") or () if _is_about(rule, user)]
            asked = [about for rule in rules for about in rule.get("resourceRules") or ()]
            if any(map(_is_of_all, asked)):
                return one
            if asked:
                return None
        return None


def seats(levels: Iterable[Object], total: int) -> Mapping[str, int]:
    """How many of all requests under way each level may have, by its shares."""
    shares = {one["metadata"]["name"]: _shares(one.get("spec") or {}) for one in levels}
    whole = sum(shares.values())
    return {name: math.ceil(total * share / whole) if whole else 0 for name, share in shares.items()}


def _shares(spec: Object) -> int:
    given: int = (spec.get("limited") or spec.get("exempt") or {}).get("nominalConcurrencyShares") or 0
    return given


def _precedence(flow: Flow) -> tuple[int, str]:
    return flow.schema["spec"].get("matchingPrecedence") or 0, flow.schema["metadata"]["name"]


def _matches(schema: Object, user: User, about: About) -> bool:
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
                return user.name.startswith(f"{SERVICE_ACCOUNT}{namespace}:")
            return user.name == account_name(namespace, name)


def _is_meant(rule: Object, about: About) -> bool:
    if about.path:
        return any(_is_path(one, about) for one in rule.get("nonResourceRules") or ())
    return any(_is_resource(one, about) for one in rule.get("resourceRules") or ())


def _is_resource(rule: Object, about: About) -> bool:
    if not (_has(rule, "verbs", about.verb) and _has(rule, "apiGroups", about.group) and _has(rule, "resources", about.resource)):
        return False
    return _has(rule, "namespaces", about.namespace) if about.namespace else bool(rule.get("clusterScope"))


def _is_of_all(rule: Object) -> bool:
    """Whether it is about all requests of resources."""
    fields = ("verbs", "apiGroups", "resources", "namespaces")
    return bool(rule.get("clusterScope")) and all("*" in (rule.get(field) or ()) for field in fields)


def _is_path(rule: Object, about: About) -> bool:
    if not _has(rule, "verbs", about.verb):
        return False
    paths: Collection[str] = rule.get("nonResourceURLs") or ()
    return any(one in ("*", about.path) or (one.endswith("/*") and about.path.startswith(one[:-1])) for one in paths)


def _has(rule: Object, field: str, value: str) -> bool:
    found = rule.get(field) or ()
    return value in found or "*" in found
