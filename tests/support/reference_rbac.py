"""A reference implementation of RBAC after Kubernetes' documentation, independent of Probate's.

It reads all objects anew for each request: slow, but short enough to be verified by reading.

    allows(objects, Identity("ann", ("staff",)), ResourceRequest("get", "", "pods/log", "a", "x"))
    covers(held, wanted)                    whether rules allow all that others do, also for names that no rule mentions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

Object = dict[str, Any]


class Identity(NamedTuple):
    name: str
    groups: tuple[str, ...] = ()


class ResourceRequest(NamedTuple):
    """A request for a resource. `resource` includes the subresource: pods/log."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class PathRequest(NamedTuple):
    """A request for a path."""

    verb: str
    path: str


def allows(objects: Iterable[Object], user: Identity, request: ResourceRequest | PathRequest) -> bool:
    """Returns whether any binding gives the user a rule that allows the request."""
    stored = list(objects)
    namespace = request.namespace if isinstance(request, ResourceRequest) else ""
    return any(rule_allows(rule, request) for rule in rules_of(stored, user, namespace))


def rules_of(objects: list[Object], user: Identity, namespace: str) -> Iterator[Object]:
    """Returns all rules of a user in a namespace, including those of the whole cluster."""
    for binding in objects:
        if binding["kind"] == "ClusterRoleBinding":
            namespace_of_rules = ""
        elif binding["kind"] == "RoleBinding" and binding["metadata"]["namespace"] == namespace:
            namespace_of_rules = namespace
        else:
            continue
        if any(_is_subject(user, subject, namespace_of_rules) for subject in binding.get("subjects", [])):
            yield from _rules(objects, binding["roleRef"], namespace_of_rules)


def _rules(objects: list[Object], reference: Object, namespace: str) -> Iterator[Object]:
    for role in objects:
        same = role["kind"] == reference["kind"] and role["metadata"]["name"] == reference["name"]
        if same and (role["kind"] == "ClusterRole" or role["metadata"]["namespace"] == namespace):
            yield from of_role(objects, role)


def of_role(objects: list[Object], role: Object, visited: tuple[str, ...] = ()) -> Iterator[Object]:
    """Returns a role's rules; for an aggregated role, those of its parts, and of theirs."""
    selectors = role.get("aggregationRule", {}).get("clusterRoleSelectors")
    if not selectors:
        yield from role.get("rules", [])
        return
    name = role["metadata"]["name"]
    for candidate in objects:
        is_candidate = candidate["kind"] == "ClusterRole" and candidate["metadata"]["name"] not in (*visited, name)
        if is_candidate and any(_selects(selector, candidate["metadata"].get("labels", {})) for selector in selectors):
            yield from of_role(objects, candidate, (*visited, name))


def _selects(selector: Object, labels: dict[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_expression_matches(expression, labels) for expression in selector.get("matchExpressions", []))


def _expression_matches(expression: Object, labels: dict[str, str]) -> bool:
    key, value = expression["key"], labels.get(expression["key"])
    return {
        "In": lambda: value in expression["values"],
        "NotIn": lambda: value not in expression["values"],
        "Exists": lambda: key in labels,
        "DoesNotExist": lambda: key not in labels,
    }[expression["operator"]]()


def _is_subject(user: Identity, subject: Object, namespace: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    account_namespace = subject.get("namespace") or namespace
    return bool(account_namespace) and user.name == f"system:serviceaccount:{account_namespace}:{subject['name']}"


def rule_allows(rule: Object, request: ResourceRequest | PathRequest) -> bool:
    """Returns whether the rule allows the request."""
    if request.verb not in rule["verbs"] and "*" not in rule["verbs"]:
        return False
    if isinstance(request, PathRequest):
        return any(_matches_url(url, request.path) for url in rule.get("nonResourceURLs", []))
    groups, names = rule.get("apiGroups", []), rule.get("resourceNames", [])
    if request.group not in groups and "*" not in groups:
        return False
    if names and request.name not in names:
        return False
    _, slash, subresource = request.resource.partition("/")
    words = {"*", request.resource} | ({f"*/{subresource}"} if slash else set())
    return not words.isdisjoint(rule.get("resources", []))


def _matches_url(url: str, path: str) -> bool:
    if url == "*":
        return True
    return path.startswith(url[:-1]) if url.endswith("*") else path == url


FRESH = "fresh"
"""A verb, group, resource or name that no rule mentions. A rule that allows it allows all."""


def covers(granted: list[Object], wanted: list[Object]) -> bool:
    """Returns whether `granted` allows all that `wanted` allows. Tries all combinations of all words, and a fresh one."""
    all_rules = [*granted, *wanted]
    requests: list[ResourceRequest | PathRequest] = [*_resource_requests(all_rules), *_path_requests(all_rules)]
    return all(
        any(rule_allows(rule, request) for rule in granted)
        for request in requests
        if any(rule_allows(rule, request) for rule in wanted)
    )


def _words(rules: list[Object], field: str) -> list[str]:
    return sorted({word for rule in rules for word in rule.get(field, []) if word != "*"} | {FRESH})


def _resource_requests(rules: list[Object]) -> Iterator[ResourceRequest]:
    listed = _words(rules, "resources")
    resources = {resource_name for resource_name in listed if not resource_name.startswith("*/")} | {
        f"{FRESH}/{resource_name[2:]}" for resource_name in listed if resource_name.startswith("*/")
    }
    resources |= {f"{FRESH}/{FRESH}"}
    of_objects = [*_words(rules, "resourceNames"), ""]
    for verb, group, resource, name in product(_words(rules, "verbs"), _words(rules, "apiGroups"), sorted(resources), of_objects):
        yield ResourceRequest(verb, group, resource, "", name)


def _path_requests(rules: list[Object]) -> Iterator[PathRequest]:
    urls = _words(rules, "nonResourceURLs")
    paths = {url for url in urls if not url.endswith("*")} | {
        url[:-1] + end for url in urls if url.endswith("*") for end in ("", FRESH)
    }
    for verb, path in product(_words(rules, "verbs"), sorted(paths)):
        yield PathRequest(verb, path)
