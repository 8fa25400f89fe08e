"""Hypothesis strategies for roles, bindings and requests over a small vocabulary, so that many of them affect each other."""

from __future__ import annotations

from hypothesis import strategies as st

from probate.api.objects import Object
from support.reference_rbac import Identity, PathRequest, ResourceRequest

VERBS, GROUPS, RESOURCES = ["get", "list", "*"], ["", "apps", "*"], ["pods", "pods/log", "*/log", "*", "jobs"]
NAMES, NAMESPACES, URLS = ["x", "y"], ["a", "b"], ["/a", "/a/*", "/a/b", "*"]
GROUP = "rbac.authorization.k8s.io"


def one_or_two(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=2)


RESOURCE_RULES = st.fixed_dictionaries(
    {"verbs": one_or_two(VERBS), "apiGroups": one_or_two(GROUPS), "resources": one_or_two(RESOURCES)},
    optional={"resourceNames": one_or_two(NAMES)},
)
URL_RULES = st.fixed_dictionaries({"verbs": one_or_two(VERBS), "nonResourceURLs": one_or_two(URLS)})
RULES = st.lists(st.one_of(RESOURCE_RULES, URL_RULES), max_size=3)
NAMESPACED_RULES = st.lists(RESOURCE_RULES, max_size=3)
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


def label_expressions(operator: str) -> st.SearchStrategy[Object]:
    values = {"values": one_or_two(["1", "2"])} if operator in {"In", "NotIn"} else {}
    return st.fixed_dictionaries({"key": st.sampled_from(["p", "q"]), "operator": st.just(operator), **values})


SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": LABELS,
        "matchExpressions": st.lists(
            st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]).flatmap(label_expressions), max_size=2
        ),
    },
)
USERS = st.sampled_from(
    [
        Identity("ann"),
        Identity("ann", ("staff",)),
        Identity("bob", ("staff",)),
        Identity("system:serviceaccount:a:ann", ("ann",)),
        Identity("eve"),
    ]
)
RESOURCE_REQUESTS = st.builds(
    ResourceRequest,
    st.sampled_from(["get", "list", "watch"]),
    st.sampled_from(["", "apps", "batch"]),
    st.sampled_from(["pods", "pods/log", "jobs", "jobs/log", "jobs/status"]),
    st.sampled_from(["", *NAMESPACES]),
    st.sampled_from(["", *NAMES, "z"]),
)
PATH_REQUESTS = st.builds(PathRequest, st.sampled_from(["get", "list"]), st.sampled_from(["/a", "/a/b", "/a/b/c", "/ab", "/b"]))


def role(name: str, namespace: str, rules: list[Object]) -> Object:
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": _metadata(name, namespace), "rules": rules}


def aggregated_role(name: str, labels: dict[str, str], selectors: list[Object]) -> Object:
    """Returns an aggregated ClusterRole."""
    rule = {"clusterRoleSelectors": selectors}
    return {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "aggregationRule": rule}


def binding(name: str, namespace: str, to: tuple[str, str], *, subjects: list[Object]) -> Object:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"apiGroup": GROUP, "kind": to[0], "name": to[1]}
    return {"kind": kind, "metadata": _metadata(name, namespace), "roleRef": reference, "subjects": subjects}


def _metadata(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


SPACES = st.sampled_from(NAMESPACES)
OBJECTS = st.one_of(
    st.builds(lambda name, rules: role(name, "", rules), ROLE_NAMES, RULES),
    st.builds(role, ROLE_NAMES, SPACES, NAMESPACED_RULES),
    st.builds(
        lambda name, to, subjects: binding(name, "", ("ClusterRole", to), subjects=subjects), ROLE_NAMES, ROLE_NAMES, SUBJECTS
    ),
    st.builds(binding, ROLE_NAMES, SPACES, st.tuples(st.sampled_from(["Role", "ClusterRole"]), ROLE_NAMES), subjects=SUBJECTS),
)
WRITES = st.lists(st.tuples(OBJECTS, st.sampled_from([False, False, False, True])), max_size=8)
"""What is written or (True) deleted."""


def _roles_in_use(subjects: list[list[Object]], rules: list[list[Object]]) -> list[tuple[Object, bool]]:
    """Returns roles that users have: without them hardly any request would be allowed, and little would be tested."""
    objects = [
        role("r", "", rules[0]),
        role("r", "a", rules[1]),
        binding("r", "", ("ClusterRole", "r"), subjects=subjects[0]),
        binding("r", "a", ("Role", "r"), subjects=subjects[1]),
        binding("s", "b", ("ClusterRole", "r"), subjects=subjects[2]),
    ]
    return [(object_, False) for object_ in objects]


HISTORIES = st.builds(
    lambda subjects, rules, more, writes: [*_roles_in_use(subjects, [rules, more]), *writes],
    st.lists(SUBJECTS, min_size=3, max_size=3),
    st.lists(st.one_of(RESOURCE_RULES, URL_RULES), min_size=1, max_size=3),
    st.lists(RESOURCE_RULES, min_size=1, max_size=3),
    WRITES,
)
