"""RBAC by property: what is decided from indexes and memories is what the objects say, read one after the other.

The evaluator here knows nothing of Probate's: it goes through all bindings for each question, as the documentation of Kubernetes
tells it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.machinery.rbac import covering, rules
from probate.machinery.rbac.grants import Grants
from probate.machinery.rbac.rights import Rights
from probate.machinery.rbac.rules import Ask, AskPath
from probate.machinery.rbac.users import User

Object = dict[str, Any]

VERBS, GROUPS, RESOURCES = ["get", "list", "*"], ["", "apps", "*"], ["pods", "pods/log", "*/log", "*", "jobs"]
NAMES, NAMESPACES, URLS = ["x", "y"], ["a", "b"], ["/a", "/a/*", "/a/b", "*"]


def some(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=2)


ABOUT_RESOURCES = st.fixed_dictionaries(
    {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)}, optional={"resourceNames": some(NAMES, 0)}
)
ABOUT_URLS = st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(URLS)})
RULES = st.lists(st.one_of(ABOUT_RESOURCES, ABOUT_URLS), max_size=3)
SUBJECTS = st.lists(
    st.sampled_from(
        [
            {"kind": "User", "name": "ann"},
            {"kind": "User", "name": "system:serviceaccount:a:ann"},
            {"kind": "Group", "name": "ann"},
            {"kind": "Group", "name": "staff"},
            {"kind": "ServiceAccount", "name": "ann", "namespace": "a"},
            {"kind": "ServiceAccount", "name": "ann"},
        ]
    ),
    max_size=2,
)
ROLE_NAMES = st.sampled_from(["r", "s"])
ACTS = st.one_of(
    st.tuples(st.just("clusterroles"), st.just(""), ROLE_NAMES, st.fixed_dictionaries({"rules": RULES}) | st.none()),
    st.tuples(st.just("roles"), st.sampled_from(NAMESPACES), ROLE_NAMES, st.fixed_dictionaries({"rules": RULES}) | st.none()),
    st.tuples(
        st.just("rolebindings"),
        st.sampled_from(NAMESPACES),
        ROLE_NAMES,
        st.builds(
            lambda kind, name, subjects: {"roleRef": {"kind": kind, "name": name}, "subjects": subjects},
            st.sampled_from(["Role", "ClusterRole"]),
            ROLE_NAMES,
            SUBJECTS,
        )
        | st.none(),
    ),
    st.tuples(
        st.just("clusterrolebindings"),
        st.just(""),
        ROLE_NAMES,
        st.builds(
            lambda name, subjects: {"roleRef": {"kind": "ClusterRole", "name": name}, "subjects": subjects}, ROLE_NAMES, SUBJECTS
        )
        | st.none(),
    ),
)
PEOPLE = st.sampled_from([User("ann"), User("bob", ("staff",)), User("eve"), User("system:serviceaccount:a:ann", ("ann",))])
ASKS = st.builds(
    Ask,
    st.sampled_from(["get", "list"]),
    st.sampled_from(["", "apps"]),
    st.sampled_from(["pods", "jobs"]),
    st.sampled_from(["", "log"]),
    st.sampled_from(["", *NAMESPACES]),
    st.sampled_from(["", *NAMES]),
)
PATH_ASKS = st.builds(AskPath, st.sampled_from(["get", "list"]), st.sampled_from(["/a", "/a/b", "/a/b/c", "/b"]))


@given(st.lists(ACTS, max_size=12), PEOPLE, st.lists(ASKS | PATH_ASKS, min_size=1, max_size=8))
def test_what_is_remembered_is_what_the_objects_say(acts: list[Any], user: User, asks: list[Ask | AskPath]) -> None:
    grants, there = Grants(), {}
    for resource, namespace, name, object_ in acts:
        grants.put(resource, namespace, name, object_)
        there[resource, namespace, name] = object_
        rights = Rights(grants, user)
        for ask in asks * 2:
            decided = rights.allow(ask) if isinstance(ask, Ask) else rights.allow_path(ask)
            assert decided == may(there, user, ask)


@given(RULES, RULES, ASKS)
def test_what_is_covered_is_allowed(held: list[Object], wanted: list[Object], ask: Ask) -> None:
    ours, theirs = [rules.of_object(one) for one in held], [rules.of_object(one) for one in wanted]
    missing = covering.uncovered(ours, theirs)
    if any(rules.allows(one, ask) for one in theirs):
        assert any(rules.allows(one, ask) for one in (*ours, *missing))
    assert not covering.uncovered([*ours, *missing], theirs)
    assert not covering.uncovered(theirs, missing)


def may(there: dict[Any, Object | None], user: User, ask: Ask | AskPath) -> bool:
    for (resource, namespace, _), binding in there.items():
        if binding is None or "binding" not in resource:
            continue
        if resource == "rolebindings" and (isinstance(ask, AskPath) or ask.namespace != namespace):
            continue
        if not any(is_subject(one, user, namespace) for one in binding["subjects"]):
            continue
        reference = binding["roleRef"]
        place = ("roles", namespace) if reference["kind"] == "Role" else ("clusterroles", "")
        role = there.get((*place, reference["name"]))
        if role is not None and any(permits(rule, ask) for rule in role["rules"]):
            return True
    return False


def is_subject(subject: Object, user: User, namespace: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    where = subject.get("namespace") or namespace
    return bool(where) and user.name == f"system:serviceaccount:{where}:{subject['name']}"


def permits(rule: Object, ask: Ask | AskPath) -> bool:
    if not {"*", ask.verb} & set(rule["verbs"]):
        return False
    if isinstance(ask, AskPath):
        urls = rule.get("nonResourceURLs", [])
        return any(url in ("*", ask.path) or (url[-1] == "*" and ask.path.startswith(url[:-1])) for url in urls)
    if not {"*", ask.group} & set(rule.get("apiGroups", [])):
        return False
    whole = ask.resource + ("/" + ask.subresource if ask.subresource else "")
    fitting = {"*", whole} | ({"*/" + ask.subresource} if ask.subresource else set())
    if not fitting & set(rule.get("resources", [])):
        return False
    return not rule.get("resourceNames") or ask.name in rule["resourceNames"]
