"""Roles, bindings and questions of a few words, so that many of them concern each other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from support.reference_rbac import Visit, Who, Wish

Object = dict[str, Any]

VERBS, GROUPS, RESOURCES = ["get", "list", "*"], ["", "apps", "*"], ["pods", "pods/log", "*/log", "*", "jobs"]
NAMES, NAMESPACES, URLS = ["x", "y"], ["a", "b"], ["/a", "/a/*", "/a/b", "*"]
GROUP = "rbac.authorization.k8s.io"


def some(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=2)


ABOUT_RESOURCES = st.fixed_dictionaries(
    {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)}, optional={"resourceNames": some(NAMES)}
)
ABOUT_URLS = st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(URLS)})
RULES = st.lists(st.one_of(ABOUT_RESOURCES, ABOUT_URLS), max_size=3)
NAMESPACED_RULES = st.lists(ABOUT_RESOURCES, max_size=3)
SUBJECTS = st.lists(
    st.sampled_from(
        [
            {"kind": "User", "name": "ann", "apiGroup": GROUP},
            {"kind": "User", "name": "system:serviceaccount:a:ann", "apiGroup": GROUP},
            {"kind": "Group", "name": "ann", "apiGroup": GROUP},
            {"kind": "Group", "name": "staff", "apiGroup": GROUP},
            {"kind": "ServiceAccount", "name": "ann", "namespace": "a"},
            {"kind": "ServiceAccount", "name": "ann", "namespace": "b"},
        ]
    ),
    min_size=1,
    max_size=3,
)
ROLE_NAMES = st.sampled_from(["r", "s"])
LABELS = st.dictionaries(st.sampled_from(["p", "q"]), st.sampled_from(["1", "2"]), max_size=2)


def labels_wanted(operator: str) -> st.SearchStrategy[Object]:
    values = {"values": some(["1", "2"])} if operator in {"In", "NotIn"} else {}
    return st.fixed_dictionaries({"key": st.sampled_from(["p", "q"]), "operator": st.just(operator), **values})


SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": LABELS,
        "matchExpressions": st.lists(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]).flatmap(labels_wanted), max_size=2),
    },
)
PEOPLE = st.sampled_from(
    [Who("ann"), Who("ann", ("staff",)), Who("bob", ("staff",)), Who("system:serviceaccount:a:ann", ("ann",)), Who("eve")]
)
WISHES = st.builds(
    Wish,
    st.sampled_from(["get", "list", "watch"]),
    st.sampled_from(["", "apps", "batch"]),
    st.sampled_from(["pods", "pods/log", "jobs", "jobs/log", "jobs/status"]),
    st.sampled_from(["", *NAMESPACES]),
    st.sampled_from(["", *NAMES, "z"]),
)
VISITS = st.builds(Visit, st.sampled_from(["get", "list"]), st.sampled_from(["/a", "/a/b", "/a/b/c", "/ab", "/b"]))


def role(name: str, namespace: str, rules: list[Object]) -> Object:
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": _about(name, namespace), "rules": rules}


def sum_of(name: str, labels: dict[str, str], selectors: list[Object]) -> Object:
    """A ClusterRole that is put together from others."""
    rule = {"clusterRoleSelectors": selectors}
    return {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "aggregationRule": rule}


def binding(name: str, namespace: str, to: tuple[str, str], subjects: list[Object]) -> Object:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"apiGroup": GROUP, "kind": to[0], "name": to[1]}
    return {"kind": kind, "metadata": _about(name, namespace), "roleRef": reference, "subjects": subjects}


def _about(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


SPACES = st.sampled_from(NAMESPACES)
OBJECTS = st.one_of(
    st.builds(lambda name, rules: role(name, "", rules), ROLE_NAMES, RULES),
    st.builds(role, ROLE_NAMES, SPACES, NAMESPACED_RULES),
    st.builds(lambda name, to, people: binding(name, "", ("ClusterRole", to), people), ROLE_NAMES, ROLE_NAMES, SUBJECTS),
    st.builds(binding, ROLE_NAMES, SPACES, st.tuples(st.sampled_from(["Role", "ClusterRole"]), ROLE_NAMES), SUBJECTS),
)
ACTS = st.lists(st.tuples(OBJECTS, st.sampled_from([False, False, False, True])), max_size=8)
"""What is written, or (True) deleted."""


def _bound(subjects: list[list[Object]], rules: list[list[Object]]) -> list[tuple[Object, bool]]:
    """Roles that somebody has: with fewer, hardly anybody could do anything, and nothing would be tried."""
    ours = [
        role("r", "", rules[0]),
        role("r", "a", rules[1]),
        binding("r", "", ("ClusterRole", "r"), subjects[0]),
        binding("r", "a", ("Role", "r"), subjects[1]),
        binding("s", "b", ("ClusterRole", "r"), subjects[2]),
    ]
    return [(one, False) for one in ours]


HISTORIES = st.builds(
    lambda subjects, rules, more, acts: [*_bound(subjects, [rules, more]), *acts],
    st.lists(SUBJECTS, min_size=3, max_size=3),
    st.lists(st.one_of(ABOUT_RESOURCES, ABOUT_URLS), min_size=1, max_size=3),
    st.lists(ABOUT_RESOURCES, min_size=1, max_size=3),
    ACTS,
)
