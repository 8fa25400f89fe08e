"""Tests every permission both ways. The table comes from discovery: each verb of each resource and subresource, and each
non-resource path. A user with exactly the rule for a request may send it; a user with every rule but that one may not.

The requests change nothing (dry runs, watches from an invalid revision): only whether they are forbidden matters.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest

from support.rbac_server import RBAC, RbacServer, running_with_rbac

Rule = dict[str, list[str]]

VERBS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
OTHER_VERBS = ["impersonate", "bind", "escalate", "use", "approve", "sign", "none"]
OF_COLLECTIONS = {"list", "watch", "create", "deletecollection"}
PATHS = ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1"]
PATHS += ["/livez", "/livez/ping", "/readyz", "/healthz", "/version", "/metrics", "/debug/ownership", "/nowhere"]
QUESTIONS = ["dependents", "owners"]


class Permission(NamedTuple):
    """A permission in the terms of rules, and the request that needs it."""

    verb: str
    group: str
    resource: str  # with its subresource
    namespace: str
    name: str
    path: str

    @property
    def rule(self) -> Rule:
        """Returns the rule for exactly this permission."""
        names = {"resourceNames": [self.name]} if self.name else {}
        return {"verbs": [self.verb], "apiGroups": [self.group], "resources": [self.resource], **names}


class PermissionTable:
    """All permissions on resources, and all values that rules about them can have."""

    def __init__(self, rights: list[Permission]) -> None:
        self.rights = rights
        self._groups = sorted({item.group for item in rights})
        self._resources = sorted({item.resource for item in rights})
        self._verbs = [*VERBS, *OTHER_VERBS]

    def all_but(self, permission: Permission) -> list[Rule]:
        """Returns rules that together allow everything but this, in the whole cluster."""
        other_verbs = [verb for verb in self._verbs if verb != permission.verb]
        groups, resources = (
            [item for item in self._groups if item != permission.group],
            [item for item in self._resources if item != permission.resource],
        )
        rules = [
            {"verbs": other_verbs, "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": [permission.verb], "apiGroups": groups, "resources": ["*"]},
            {"verbs": [permission.verb], "apiGroups": [permission.group], "resources": resources},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
        if permission.name:
            rules.append({**permission.rule, "resourceNames": ["another", permission.name.upper(), "*"]})
        elif permission.verb != "list":  # a rule limited to names does not allow a list of all objects
            rules.append({**permission.rule, "resourceNames": ["x"]})
        return rules


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        await item.request("DELETE", f"{RBAC}/clusterrolebindings")  # the default bindings would allow too much
        await item.request("DELETE", f"{RBAC}/namespaces/kube-system/rolebindings")
        yield item


async def table_of(server: RbacServer) -> PermissionTable:
    return PermissionTable([permission async for permission in _rights(server)])


async def _rights(server: RbacServer) -> AsyncIterator[Permission]:
    groups = (await server.request("GET", "/apis")).json["groups"]
    versions = [item["groupVersion"] for group in groups for item in group["versions"]]
    for root, version in [("/api/v1", "v1"), *((f"/apis/{version}", version) for version in versions)]:
        group = version.rpartition("/")[0]
        for kind in (await server.request("GET", root)).json["resources"]:
            for permission in _of_kind(root, group, kind):
                yield permission


def _of_kind(root: str, group: str, kind: dict[str, Any]) -> Iterator[Permission]:
    plural, _, part = kind["name"].partition("/")
    for verb in kind["verbs"]:
        is_named = bool(part) or verb not in OF_COLLECTIONS
        name = "x" if is_named else ""
        below = "/".join(filter(None, (plural, name, part)))
        if kind["namespaced"]:
            yield Permission(verb, group, kind["name"], "a", name, f"{root}/namespaces/a/{below}")
            if verb in {"list", "watch"}:
                yield Permission(verb, group, kind["name"], "", "", f"{root}/{plural}")
        else:
            yield Permission(verb, group, kind["name"], "", name, f"{root}/{below}")


async def ask(server: RbacServer, user: str, permission: Permission, method: str = "") -> Any:
    query = {"get": {}, "list": {}, "watch": {"watch": "1", "resourceVersion": "nonsense"}}.get(permission.verb, {"dryRun": "All"})
    body: Any = None if permission.verb in {"get", "list", "watch"} else {}
    if permission.verb == "update":  # without this, an update of a missing object would create it if create is allowed too
        body = {"metadata": {"uid": "another"}}
    media = "application/merge-patch+json" if permission.verb == "patch" else "application/json"
    return await server.ask_as(user, method or VERBS[permission.verb], permission.path, body=body, query=query, media=media)


async def test_resources(server: RbacServer) -> None:
    table, numbers = await table_of(server), itertools.count()
    assert len(table.rights) > 600
    assert {permission.verb for permission in table.rights} == set(VERBS)
    for permission in table.rights:
        number = next(numbers)
        await server.grant(f"has-{number}", permission.rule, namespace=permission.namespace)
        assert (await ask(server, f"has-{number}", permission)).code != 403, permission
        await server.grant(f"lacks-{number}", *table.all_but(permission))
        if permission.namespace:  # plus everything in other namespaces
            await server.grant(f"lacks-{number}", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace="b")
        refused = await ask(server, f"lacks-{number}", permission)
        assert refused.code == 403, permission
        assert refused.json["details"]["causes"][0]["reason"] == "MissingRule", permission


async def test_role_in_one_namespace_does_not_grant_all_namespaces(server: RbacServer) -> None:
    for namespace in ("a", "b"):
        await server.grant("ann", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace=namespace)
    everywhere = [item for item in (await table_of(server)).rights if not item.namespace]
    assert len(everywhere) > 200
    for permission in everywhere:
        is_itself = permission.resource.partition("/")[0] == "namespaces" and permission.name
        assert (await ask(server, "ann", permission)).code == 403 or is_itself, permission


async def test_aliases_of_a_request_take_the_same_right(server: RbacServer) -> None:
    """HEAD is a get or a list; the old paths of watches are watches; the version does not matter."""
    ways = [
        (Permission("get", "", "configmaps", "a", "x", "/api/v1/namespaces/a/configmaps/x"), "HEAD"),
        (Permission("list", "", "configmaps", "a", "", "/api/v1/namespaces/a/configmaps"), "HEAD"),
        (Permission("watch", "", "configmaps", "a", "", "/api/v1/watch/namespaces/a/configmaps"), "GET"),
        (Permission("watch", "", "configmaps", "a", "x", "/api/v1/watch/namespaces/a/configmaps/x"), "GET"),
        (Permission("watch", "apps", "deployments", "", "", "/apis/apps/v1/watch/deployments"), "GET"),
        (
            Permission(
                "get",
                "autoscaling",
                "horizontalpodautoscalers",
                "a",
                "x",
                "/apis/autoscaling/v1/namespaces/a/horizontalpodautoscalers/x",
            ),
            "GET",
        ),
        (
            Permission(
                "get",
                "autoscaling",
                "horizontalpodautoscalers",
                "a",
                "x",
                "/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers/x",
            ),
            "GET",
        ),
    ]
    table = await table_of(server)
    for number, (permission, method) in enumerate(ways):
        await server.grant(f"has-{number}", permission.rule, namespace=permission.namespace)
        assert (await ask(server, f"has-{number}", permission, method)).code != 403, permission
        await server.grant(f"lacks-{number}", *table.all_but(permission))
        assert (await ask(server, f"lacks-{number}", permission, method)).code == 403, permission


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
async def test_non_resource_paths(server: RbacServer, path: str, method: str) -> None:
    verb = method.lower()
    await server.grant("has", {"verbs": [verb], "nonResourceURLs": [path]})
    assert (await server.ask_as("has", method, path)).code != 403
    others = [item for item in ("get", "head", "post", "put", "patch", "delete", "list", "watch", "create") if item != verb]
    longer, shorter = f"{path}x", path[:-1]
    await server.grant(
        "lacks",
        {"verbs": others, "nonResourceURLs": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": [longer, f"{path}/", f"{path}/*", shorter, path.upper(), f"/x{path}", "/none*"]},
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    )
    assert (await server.ask_as("lacks", method, path)).code == 403
    await server.grant("lacks", {"verbs": [verb], "nonResourceURLs": [f"{shorter}*"]})
    assert (await server.ask_as("lacks", method, path)).code != 403


@pytest.mark.parametrize("question", QUESTIONS)
async def test_ownership_api(server: RbacServer, question: str) -> None:
    path, request = f"/apis/probate.dev/v1alpha1/{question}", dict[str, Any](query={"uid": "u"})
    rule = {"verbs": ["get"], "apiGroups": ["probate.dev"], "resources": [question]}
    await server.grant("has", rule)
    assert (await server.ask_as("has", "GET", path, **request)).code != 403
    other = next(item for item in QUESTIONS if item != question)
    await server.grant(
        "lacks",
        {**rule, "verbs": ["list", "create"]},
        {**rule, "resources": [other]},
        {**rule, "apiGroups": ["", "apps"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    )
    await server.grant("lacks", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace="a")
    assert (await server.ask_as("lacks", "GET", path, **request)).code == 403
