"""Every right there is, both ways. The table is what the server says of itself: each verb of each resource and subresource, and
each path that is no resource. Who has exactly the rule for it may; who has every rule but that one may not.

What is asked is not carried out (dry runs, watches from nonsense): it is refused for other reasons, or is not, and that is all.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest

from support.rbac_server import RBAC, Guarded, guarded

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


class Right(NamedTuple):
    """One line: what is asked for in the words of rules, and how."""

    verb: str
    group: str
    resource: str  # with its subresource
    namespace: str
    name: str
    path: str

    @property
    def rule(self) -> Rule:
        """Exactly this."""
        names = {"resourceNames": [self.name]} if self.name else {}
        return {"verbs": [self.verb], "apiGroups": [self.group], "resources": [self.resource], **names}


class Table:
    """All rights to resources, and all words that rules about them can have."""

    def __init__(self, rights: list[Right]) -> None:
        self.rights = rights
        self._groups = sorted({one.group for one in rights})
        self._resources = sorted({one.resource for one in rights})
        self._verbs = [*VERBS, *OTHER_VERBS]

    def all_but(self, right: Right) -> list[Rule]:
        """Rules that together allow everything but this, in all of the cluster."""
        other_verbs = [verb for verb in self._verbs if verb != right.verb]
        groups, resources = (
            [one for one in self._groups if one != right.group],
            [one for one in self._resources if one != right.resource],
        )
        rules = [
            {"verbs": other_verbs, "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": [right.verb], "apiGroups": groups, "resources": ["*"]},
            {"verbs": [right.verb], "apiGroups": [right.group], "resources": resources},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
        if right.name:
            rules.append({**right.rule, "resourceNames": ["another", right.name.upper(), "*"]})
        elif right.verb != "list":  # what is limited to a name says nothing about all of them
            rules.append({**right.rule, "resourceNames": ["x"]})
        return rules


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        await one.ask("DELETE", f"{RBAC}/clusterrolebindings")  # what everybody may do would be in the way
        await one.ask("DELETE", f"{RBAC}/namespaces/kube-system/rolebindings")
        yield one


async def table_of(house: Guarded) -> Table:
    return Table([right async for right in _rights(house)])


async def _rights(house: Guarded) -> AsyncIterator[Right]:
    groups = (await house.ask("GET", "/apis")).json["groups"]
    versions = [one["groupVersion"] for group in groups for one in group["versions"]]
    for root, version in [("/api/v1", "v1"), *((f"/apis/{version}", version) for version in versions)]:
        group = version.rpartition("/")[0]
        for kind in (await house.ask("GET", root)).json["resources"]:
            for right in _of_kind(root, group, kind):
                yield right


def _of_kind(root: str, group: str, kind: dict[str, Any]) -> Iterator[Right]:
    plural, _, part = kind["name"].partition("/")
    for verb in kind["verbs"]:
        is_named = bool(part) or verb not in OF_COLLECTIONS
        name = "x" if is_named else ""
        below = "/".join(filter(None, (plural, name, part)))
        if kind["namespaced"]:
            yield Right(verb, group, kind["name"], "a", name, f"{root}/namespaces/a/{below}")
            if verb in {"list", "watch"}:
                yield Right(verb, group, kind["name"], "", "", f"{root}/{plural}")
        else:
            yield Right(verb, group, kind["name"], "", name, f"{root}/{below}")


async def ask(house: Guarded, who: str, right: Right, method: str = "") -> Any:
    query = {"get": {}, "list": {}, "watch": {"watch": "1", "resourceVersion": "nonsense"}}.get(right.verb, {"dryRun": "All"})
    body: Any = None if right.verb in {"get", "list", "watch"} else {}
    if right.verb == "update":  # of one that is not there: else it would be created, if that is allowed as well
        body = {"metadata": {"uid": "another"}}
    media = "application/merge-patch+json" if right.verb == "patch" else "application/json"
    return await house.ask_as(who, method or VERBS[right.verb], right.path, body, query=query, media=media)


async def test_resources(house: Guarded) -> None:
    table, numbers = await table_of(house), itertools.count()
    assert len(table.rights) > 600
    assert {right.verb for right in table.rights} == set(VERBS)
    for right in table.rights:
        number = next(numbers)
        await house.grant(f"has-{number}", right.rule, namespace=right.namespace)
        assert (await ask(house, f"has-{number}", right)).code != 403, right
        await house.grant(f"lacks-{number}", *table.all_but(right))
        if right.namespace:  # and everything elsewhere
            await house.grant(f"lacks-{number}", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace="b")
        refused = await ask(house, f"lacks-{number}", right)
        assert refused.code == 403, right
        assert refused.json["details"]["causes"][0]["reason"] == "MissingRule", right


async def test_a_role_in_one_namespace_is_no_right_to_all_of_them(house: Guarded) -> None:
    for namespace in ("a", "b"):
        await house.grant("ann", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace=namespace)
    everywhere = [one for one in (await table_of(house)).rights if not one.namespace]
    assert len(everywhere) > 200
    for right in everywhere:
        is_itself = right.resource.partition("/")[0] == "namespaces" and right.name
        assert (await ask(house, "ann", right)).code == 403 or is_itself, right


async def test_other_ways_to_ask_for_the_same(house: Guarded) -> None:
    """HEAD is a get or a list; the old paths of watches are watches; the version does not matter."""
    ways = [
        (Right("get", "", "configmaps", "a", "x", "/api/v1/namespaces/a/configmaps/x"), "HEAD"),
        (Right("list", "", "configmaps", "a", "", "/api/v1/namespaces/a/configmaps"), "HEAD"),
        (Right("watch", "", "configmaps", "a", "", "/api/v1/watch/namespaces/a/configmaps"), "GET"),
        (Right("watch", "", "configmaps", "a", "x", "/api/v1/watch/namespaces/a/configmaps/x"), "GET"),
        (Right("watch", "apps", "deployments", "", "", "/apis/apps/v1/watch/deployments"), "GET"),
        (
            Right(
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
            Right(
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
    table = await table_of(house)
    for number, (right, method) in enumerate(ways):
        await house.grant(f"has-{number}", right.rule, namespace=right.namespace)
        assert (await ask(house, f"has-{number}", right, method)).code != 403, right
        await house.grant(f"lacks-{number}", *table.all_but(right))
        assert (await ask(house, f"lacks-{number}", right, method)).code == 403, right


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
async def test_paths_that_are_no_resources(house: Guarded, path: str, method: str) -> None:
    verb = method.lower()
    await house.grant("has", {"verbs": [verb], "nonResourceURLs": [path]})
    assert (await house.ask_as("has", method, path)).code != 403
    others = [one for one in ("get", "head", "post", "put", "patch", "delete", "list", "watch", "create") if one != verb]
    longer, shorter = f"{path}x", path[:-1]
    await house.grant(
        "lacks",
        {"verbs": others, "nonResourceURLs": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": [longer, f"{path}/", f"{path}/*", shorter, path.upper(), f"/x{path}", "/none*"]},
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    )
    assert (await house.ask_as("lacks", method, path)).code == 403
    await house.grant("lacks", {"verbs": [verb], "nonResourceURLs": [f"{shorter}*"]})
    assert (await house.ask_as("lacks", method, path)).code != 403


@pytest.mark.parametrize("question", QUESTIONS)
async def test_questions_of_our_own(house: Guarded, question: str) -> None:
    path, asked = f"/apis/probate.dev/v1alpha1/{question}", dict[str, Any](query={"uid": "u"})
    rule = {"verbs": ["get"], "apiGroups": ["probate.dev"], "resources": [question]}
    await house.grant("has", rule)
    assert (await house.ask_as("has", "GET", path, **asked)).code != 403
    other = next(one for one in QUESTIONS if one != question)
    await house.grant(
        "lacks",
        {**rule, "verbs": ["list", "create"]},
        {**rule, "resources": [other]},
        {**rule, "apiGroups": ["", "apps"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    )
    await house.grant("lacks", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, namespace="a")
    assert (await house.ask_as("lacks", "GET", path, **asked)).code == 403
