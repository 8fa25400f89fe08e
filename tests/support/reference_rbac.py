"""RBAC as the documentation of Kubernetes tells it, with nothing of Probate's: objects are read one after the other, for each
question anew. It is slow, and it is short enough to be read at one sitting.

    allows(objects, Who("ann", ("staff",)), Wish("get", "", "pods/log", "a", "x"))
    covers(held, wanted)                    whether rules allow all that others do, also of what nobody has thought of yet
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

Object = dict[str, Any]


class Who(NamedTuple):
    name: str
    groups: tuple[str, ...] = ()


class Wish(NamedTuple):
    """May this be done to a resource? `resource` has its subresource: pods/log."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class Visit(NamedTuple):
    """May this be done at a path?"""

    verb: str
    path: str


def allows(objects: Iterable[Object], who: Who, asked: Wish | Visit) -> bool:
    """Whether any binding gives them a rule that does."""
    there = list(objects)
    space = asked.namespace if isinstance(asked, Wish) else ""
    return any(fits(rule, asked) for rule in held(there, who, space))


def held(objects: list[Object], who: Who, namespace: str) -> Iterator[Object]:
    """All rules that somebody has in a namespace, those that they have everywhere included."""
    for binding in objects:
        if binding["kind"] == "ClusterRoleBinding":
            where = ""
        elif binding["kind"] == "RoleBinding" and binding["metadata"]["namespace"] == namespace:
            where = namespace
        else:
            continue
        if any(_is(who, subject, where) for subject in binding.get("subjects", [])):
            yield from _rules(objects, binding["roleRef"], where)


def _rules(objects: list[Object], reference: Object, namespace: str) -> Iterator[Object]:
    for role in objects:
        same = role["kind"] == reference["kind"] and role["metadata"]["name"] == reference["name"]
        if same and (role["kind"] == "ClusterRole" or role["metadata"]["namespace"] == namespace):
            yield from of_role(objects, role)


def of_role(objects: list[Object], role: Object, seen: tuple[str, ...] = ()) -> Iterator[Object]:
    """A role's rules; of one that is put together, those of its parts, and of theirs."""
    selectors = role.get("aggregationRule", {}).get("clusterRoleSelectors")
    if not selectors:
        yield from role.get("rules", [])
        return
    name = role["metadata"]["name"]
    for part in objects:
        is_another = part["kind"] == "ClusterRole" and part["metadata"]["name"] not in (*seen, name)
        if is_another and any(_selects(one, part["metadata"].get("labels", {})) for one in selectors):
            yield from of_role(objects, part, (*seen, name))


def _selects(selector: Object, labels: dict[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_holds(one, labels) for one in selector.get("matchExpressions", []))


def _holds(wanted: Object, labels: dict[str, str]) -> bool:
    key, found = wanted["key"], labels.get(wanted["key"])
    return {
        "In": lambda: found in wanted["values"],
        "NotIn": lambda: found not in wanted["values"],
        "Exists": lambda: key in labels,
        "DoesNotExist": lambda: key not in labels,
    }[wanted["operator"]]()


def _is(who: Who, subject: Object, namespace: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == who.name)
    if subject["kind"] == "Group":
        return subject["name"] in who.groups
    where = subject.get("namespace") or namespace
    return bool(where) and who.name == f"system:serviceaccount:{where}:{subject['name']}"


def fits(rule: Object, asked: Wish | Visit) -> bool:
    """Whether the rule allows it."""
    if asked.verb not in rule["verbs"] and "*" not in rule["verbs"]:
        return False
    if isinstance(asked, Visit):
        return any(_is_at(url, asked.path) for url in rule.get("nonResourceURLs", []))
    groups, names = rule.get("apiGroups", []), rule.get("resourceNames", [])
    if asked.group not in groups and "*" not in groups:
        return False
    if names and asked.name not in names:
        return False
    _, slash, part = asked.resource.partition("/")
    words = {"*", asked.resource} | ({f"*/{part}"} if slash else set())
    return not words.isdisjoint(rule.get("resources", []))


def _is_at(url: str, path: str) -> bool:
    if url == "*":
        return True
    return path.startswith(url[:-1]) if url.endswith("*") else path == url


FRESH = "fresh"
"""A verb, a group, a resource, a name that nobody has thought of. What allows it allows all."""


def covers(ours: list[Object], wanted: list[Object]) -> bool:
    """Whether ours allow each thing that the wanted ones do: tried one by one, with all words there are, and a fresh one."""
    both = [*ours, *wanted]
    things: list[Wish | Visit] = [*_wishes(both), *_visits(both)]
    return all(any(fits(rule, one) for rule in ours) for one in things if any(fits(rule, one) for rule in wanted))


def _words(rules: list[Object], field: str) -> list[str]:
    return sorted({word for rule in rules for word in rule.get(field, []) if word != "*"} | {FRESH})


def _wishes(rules: list[Object]) -> Iterator[Wish]:
    named = _words(rules, "resources")
    resources = {one for one in named if not one.startswith("*/")} | {f"{FRESH}/{one[2:]}" for one in named if one.startswith("*/")}
    resources |= {f"{FRESH}/{FRESH}"}
    of_objects = [*_words(rules, "resourceNames"), ""]
    for verb, group, resource, name in product(_words(rules, "verbs"), _words(rules, "apiGroups"), sorted(resources), of_objects):
        yield Wish(verb, group, resource, "", name)


def _visits(rules: list[Object]) -> Iterator[Visit]:
    urls = _words(rules, "nonResourceURLs")
    paths = {url for url in urls if not url.endswith("*")} | {
        url[:-1] + end for url in urls if url.endswith("*") for end in ("", FRESH)
    }
    for verb, path in product(_words(rules, "verbs"), sorted(paths)):
        yield Visit(verb, path)
