"""Who may do what, asked through the door: each right both ways, and that a right is there or gone as soon as its grant is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest

from probate.api.rbac.cel_authorizer import Attributes
from probate.api.rbac.users import User
from probate.server.app import App
from probate.server.bootstrap import rbac_roles
from support.in_process_server import Told
from support.rbac_server import RBAC, Guarded, guarded
from support.virtual_time_server import in_memory

READ = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"]}
MAPS = "/api/v1/namespaces/a/configmaps"


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        yield one


WAYS: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "get": ("get", "configmaps", "", {"method": "GET", "path": f"{MAPS}/x"}, "x"),
    "list": ("list", "configmaps", "", {"method": "GET", "path": MAPS}, ""),
    "create": ("create", "configmaps", "", {"method": "POST", "path": MAPS, "body": {"metadata": {"name": "new"}}}, ""),
    "update": ("update", "configmaps", "", {"method": "PUT", "path": f"{MAPS}/x", "body": {"metadata": {"name": "x"}}}, "x"),
    "patch": (
        "patch",
        "configmaps",
        "",
        {"method": "PATCH", "path": f"{MAPS}/x", "body": {"data": {"a": "b"}}, "media": "application/merge-patch+json"},
        "x",
    ),
    "delete": ("delete", "configmaps", "", {"method": "DELETE", "path": f"{MAPS}/x"}, "x"),
    "deletecollection": ("deletecollection", "configmaps", "", {"method": "DELETE", "path": MAPS}, ""),
    "head": ("get", "configmaps", "", {"method": "HEAD", "path": f"{MAPS}/x"}, "x"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_verb_is_allowed_with_its_rule_and_not_without(house: Guarded, way: str) -> None:
    verb, resource, group, asked, name = WAYS[way]
    await house.create("configmaps", "a", {"metadata": {"name": "x"}})
    others = sorted({one[0] for one in WAYS.values()} - {verb})
    await house.grant("ann", {"verbs": others, "apiGroups": [group], "resources": [resource]}, namespace="a")
    refused = await house.ask_as("ann", **asked)
    assert refused.code == 403
    if asked["method"] != "HEAD":
        about = f'{resource} "{name}"' if name else resource
        told = f'{about} is forbidden: User "ann" cannot {verb} resource "{resource}" in API group "{group}" in the namespace "a"'
        assert refused.json["message"].startswith(told)
        cause = refused.json["details"]["causes"][0]
        assert cause == {
            "reason": "MissingRule",
            "message": f'{{"verbs": ["{verb}"], "apiGroups": [""], "resources": ["configmaps"]}}',
        }
    await house.grant("ann", {"verbs": [verb], "apiGroups": [group], "resources": [resource]}, namespace="a")
    assert (await house.ask_as("ann", **asked)).code in {200, 201}


async def test_a_right_is_there_as_soon_as_it_is_granted_and_gone_as_soon_as_it_is_not(house: Guarded) -> None:
    for _ in range(5):
        assert (await house.ask_as("ann", "GET", MAPS)).code == 403
        binding = (await house.bind("ann", "ClusterRole", "view", namespace="a")).json["metadata"]["name"]
        assert (await house.ask_as("ann", "GET", MAPS)).code == 200
        assert (await house.ask("DELETE", f"{RBAC}/namespaces/a/rolebindings/{binding}")).code == 200


async def test_who_is_recalled_may_do_what_they_may_now_and_nothing_else(house: Guarded) -> None:
    """Who asks again is not looked up again, nor is what they may do, until rights change."""
    ann = User("ann")
    anns = App(house.api, recognise=lambda _: asyncio.sleep(0, ann), recall=lambda _: ann)

    async def code(method: str, path: str, **query: str) -> int:
        own, house.app = house.app, anns
        try:
            return (await house.ask(method, path, query=query)).code
        finally:
            house.app = own

    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"]}
    for name in ("x", "y"):
        await house.create("configmaps", "a", {"metadata": {"name": name}})
    for _ in range(3):
        assert [await code("GET", f"{MAPS}/x") for _ in range(3)] == [403, 403, 403]
        await house.grant("ann", rule, namespace="a")
        assert [await code("GET", f"{MAPS}/x") for _ in range(3)] == [200, 200, 200]
        assert [await code(*asked) for asked in (("GET", f"{MAPS}/y"), ("DELETE", f"{MAPS}/x"), ("GET", MAPS))] == [403, 403, 403]
        assert await code("GET", MAPS, fieldSelector="metadata.name=x") == 200
        assert [await code("GET", MAPS), await code("GET", MAPS, fieldSelector="metadata.name=y")] == [403, 403]
        assert (await house.ask("DELETE", f"{RBAC}/namespaces/a/rolebindings")).code == 200


async def test_a_right_in_one_namespace_is_none_in_another_or_everywhere(house: Guarded) -> None:
    await house.grant("ann", READ, namespace="a")
    assert (await house.ask_as("ann", "GET", MAPS)).code == 200
    assert (await house.ask_as("ann", "GET", "/api/v1/namespaces/b/configmaps")).code == 403
    everywhere = await house.ask_as("ann", "GET", "/api/v1/configmaps")
    assert everywhere.json["message"].startswith(
        'configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" at the cluster scope'
    )


async def test_watch_needs_its_own_right(house: Guarded) -> None:
    await house.grant("ann", {**READ, "verbs": ["list"]}, namespace="a")
    assert (await house.ask_as("ann", "GET", MAPS, query={"watch": "1"})).code == 403
    assert (await house.ask_as("ann", "GET", MAPS, query={"watch": "0"})).code == 200
    assert (await house.ask_as("ann", "GET", "/api/v1/watch/namespaces/a/configmaps")).code == 403


async def test_a_name_allows_a_list_of_that_name_alone(house: Guarded) -> None:
    await house.create("configmaps", "a", {"metadata": {"name": "x"}})
    await house.grant("ann", {**READ, "resourceNames": ["x"]}, namespace="a")
    for selector, code in (
        ("metadata.name=x", 200),
        ("metadata.name==x", 200),
        ("metadata.name=y", 403),
        ("metadata.name!=x", 403),
    ):
        assert (await house.ask_as("ann", "GET", MAPS, query={"fieldSelector": selector})).code == code, selector
    assert (await house.ask_as("ann", "GET", MAPS)).code == 403
    assert (await house.ask_as("ann", "GET", f"{MAPS}/x")).code == 200
    assert (await house.ask_as("ann", "GET", f"{MAPS}/y")).code == 403


async def test_a_subresource_needs_its_own_right(house: Guarded) -> None:
    await house.create("apis/apps/v1/deployments", "a", _deployment())
    await house.grant("ann", {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments"]}, namespace="a")
    path = "/apis/apps/v1/namespaces/a/deployments/d/scale"
    refused = await house.ask_as("ann", "GET", path)
    assert 'cannot get resource "deployments/scale" in API group "apps"' in refused.json["message"]
    await house.grant("ann", {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*/scale"]}, namespace="a")
    assert (await house.ask_as("ann", "GET", path)).code == 200


def _deployment() -> dict[str, Any]:
    labels = {"app": "d"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


async def test_a_role_in_a_namespace_may_be_about_that_namespace(house: Guarded) -> None:
    await house.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}, namespace="a")
    assert (await house.ask_as("ann", "GET", "/api/v1/namespaces/a")).code == 200
    assert (await house.ask_as("ann", "GET", "/api/v1/namespaces/b")).code == 403
    assert (await house.ask_as("ann", "GET", "/api/v1/namespaces")).code == 403


async def test_an_update_that_creates_needs_to_be_allowed_to(house: Guarded) -> None:
    path, body = "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", {"metadata": {"name": "l"}}
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    await house.grant("ann", {"verbs": ["update"], **rule}, namespace="a")
    refused = await house.ask_as("ann", "PUT", path, body)
    assert refused.code == 403
    assert 'cannot create resource "leases"' in refused.json["message"]
    await house.grant("bob", {"verbs": ["update", "create"], **rule}, namespace="a")
    assert (await house.ask_as("bob", "PUT", path, body)).code == 201


async def test_an_apply_that_creates_needs_to_be_allowed_to(house: Guarded) -> None:
    await house.grant("ann", {"verbs": ["patch"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    asked: dict[str, Any] = {"query": {"fieldManager": "m"}, "media": "application/apply-patch+yaml"}
    refused = await house.ask_as("ann", "PATCH", f"{MAPS}/x", document, **asked)
    assert refused.code == 403
    assert 'cannot create resource "configmaps"' in refused.json["message"]
    await house.create("configmaps", "a", {"metadata": {"name": "x"}})
    assert (await house.ask_as("ann", "PATCH", f"{MAPS}/x", document, **asked)).code == 200


async def test_paths_that_are_no_resources(house: Guarded) -> None:
    for path, code in (("/version", 200), ("/api", 200), ("/apis/apps/v1", 200), ("/livez", 200), ("/metrics", 403)):
        assert (await house.ask_as("ann", "GET", path)).code == code, path
    refused = await house.ask_as("ann", "GET", "/metrics")
    assert refused.json["message"].startswith('forbidden: User "ann" cannot get path "/metrics"')
    await house.grant("ann", {"verbs": ["get"], "nonResourceURLs": ["/metrics"]})
    assert (await house.ask_as("ann", "GET", "/metrics")).code == 200


@pytest.mark.parametrize("path", ["/debug/ownership", "/apis/probate.dev/v1alpha1/dependents", "/apis/probate.dev/v1alpha1/owners"])
async def test_who_may_see_the_kinds_there_are_may_not_see_who_owns_what(house: Guarded, path: str) -> None:
    asked: dict[str, Any] = {"query": {"uid": "u"}}
    assert (await house.ask_as("ann", "GET", path, **asked)).code == 403
    assert (await house.ask("GET", path, **asked)).code != 403


async def test_a_refusal_names_the_role_that_is_bound_and_not_there(house: Guarded) -> None:
    await house.bind("ann", "ClusterRole", "nowhere", namespace="a")
    told = (await house.ask_as("ann", "GET", MAPS)).json["message"]
    assert 'in the namespace "a": RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found' in told


async def test_masters_may_do_anything_whatever_the_roles_say(house: Guarded) -> None:
    for resource in ("clusterrolebindings", "clusterroles"):
        assert (await house.ask("DELETE", f"{RBAC}/{resource}")).code == 200
    assert (await house.ask_as("ann", "GET", MAPS, groups=("system:masters",))).code == 200


class TestImpersonation:
    """Whoever acts as somebody else needs each part of it."""

    async def test_needs_the_right_for_each_part(self, house: Guarded) -> None:
        headers = [(b"impersonate-user", b"bob"), (b"impersonate-group", b"g"), (b"impersonate-uid", b"7")]
        headers.append((b"impersonate-extra-acme.com%2fproject", b"p"))
        needed = [("", "users", "bob"), ("", "groups", "g"), ("authentication.k8s.io", "uids", "7")]
        needed.append(("authentication.k8s.io", "userextras/acme.com/project", "p"))
        await house.grant("bob", READ, namespace="a")
        for group, resource, name in needed:
            refused = await self._nested(house, "ann", headers)
            assert refused.code == 403
            assert f'"{name}" is forbidden: User "ann" cannot impersonate resource "{resource}"' in refused.json["message"]
            await house.grant(
                "ann", {"verbs": ["impersonate"], "apiGroups": [group], "resources": [resource], "resourceNames": [name]}
            )
        assert (await self._nested(house, "ann", headers)).code == 200

    async def _nested(self, house: Guarded, who: str, headers: list[tuple[bytes, bytes]]) -> Told:
        """As somebody who acts as somebody else."""

        async def recognise(_: object) -> User:
            return User(who, ("system:authenticated",))

        everybody, house.app = house.app, App(house.api, recognise=recognise)
        try:
            return await house.ask("GET", MAPS, headers=headers)
        finally:
            house.app = everybody

    async def test_of_a_service_account_needs_the_right_to_that_account(self, house: Guarded) -> None:
        headers = [(b"impersonate-user", b"system:serviceaccount:b:robot")]
        rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}
        await house.grant("system:serviceaccount:b:robot", READ, namespace="a")
        await house.grant("ann", rule, namespace="a")
        assert (await self._nested(house, "ann", headers)).code == 403
        await house.grant("ann", rule, namespace="b")
        assert (await self._nested(house, "ann", headers)).code == 200

    async def test_a_service_account_is_in_its_groups(self, house: Guarded) -> None:
        subjects = [{"kind": "Group", "name": "system:serviceaccounts:b"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        body = {"metadata": {"name": "robots"}, "roleRef": reference, "subjects": subjects}
        assert (await house.ask("POST", f"{RBAC}/namespaces/a/rolebindings", body)).code == 201
        assert (await house.ask_as("system:serviceaccount:b:robot", "GET", MAPS)).code == 200
        assert (await house.ask_as("system:serviceaccount:a:robot", "GET", MAPS)).code == 403

    @pytest.mark.parametrize(
        "headers",
        [
            [(b"impersonate-group", b"system:masters")],
            [(b"impersonate-uid", b"1")],
            [(b"impersonate-user", b"")],
            [(b"impersonate-user", b"a"), (b"impersonate-user", b"b")],
            [(b"impersonate-nonsense", b"x")],
        ],
    )
    async def test_says_as_whom(self, house: Guarded, headers: list[tuple[bytes, bytes]]) -> None:
        assert (await house.ask("GET", MAPS, headers=headers)).code == 400


class TestEscalation:
    """Nobody grants what they do not have."""

    WRITE_ROLES: ClassVar = {"verbs": ["create", "update", "patch"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    SECRETS: ClassVar = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}

    @pytest.fixture
    async def house(self) -> AsyncIterator[Guarded]:
        async with guarded() as house:
            await house.grant("ann", self.WRITE_ROLES, READ, namespace="a")
            yield house

    async def _role(self, house: Guarded, *rules: dict[str, Any], method: str = "POST", who: str = "ann") -> Told:
        path = f"{RBAC}/namespaces/a/roles" + ("/r" if method != "POST" else "")
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return await house.ask_as(who, method, path, {"metadata": {"name": "r"}, "rules": list(rules)}, media=media)

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
    async def test_rules_that_the_author_has(self, house: Guarded, method: str) -> None:
        if method != "POST":
            await self._role(house)
        assert (await self._role(house, {**READ, "verbs": ["get"]}, method=method)).code in {200, 201}

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
    async def test_rules_that_the_author_has_not(self, house: Guarded, method: str) -> None:
        if method != "POST":
            await self._role(house)
        refused = await self._role(house, READ, self.SECRETS, method=method)
        assert refused.code == 403
        told = (
            'roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant'
        )
        assert refused.json["message"].startswith(told)
        assert refused.json["message"].endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')

    async def test_an_apply_is_no_way_around_it(self, house: Guarded) -> None:
        document = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "r"},
            "rules": [self.SECRETS],
        }
        asked: dict[str, Any] = {"query": {"fieldManager": "m"}, "media": "application/apply-patch+yaml"}
        assert (await house.ask_as("ann", "PATCH", f"{RBAC}/namespaces/a/roles/r", document, **asked)).code == 403
        assert (await house.ask("GET", f"{RBAC}/namespaces/a/roles/r")).code == 404

    async def test_who_may_escalate_the_role_needs_no_rights(self, house: Guarded) -> None:
        rule = {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "resourceNames": ["r"]}
        await house.grant("ann", rule, namespace="a")
        assert (await self._role(house, self.SECRETS)).code == 201

    async def test_what_may_change_of_any_object_may_change_of_a_role_with_more_but_no_labels(self, house: Guarded) -> None:
        body = {"metadata": {"name": "r"}, "rules": [self.SECRETS]}
        assert (await house.ask("POST", f"{RBAC}/namespaces/a/roles", body)).code == 201
        path, media = f"{RBAC}/namespaces/a/roles/r", "application/merge-patch+json"
        for change, code in (({"finalizers": ["a.example.com/b"]}, 200), ({"labels": {"a": "b"}}, 403), ({}, 200)):
            assert (await house.ask_as("ann", "PATCH", path, {"metadata": change}, media=media)).code == code, change
        assert (await self._role(house, self.SECRETS, READ, method="PUT")).code == 403

    async def test_a_sum_of_roles_needs_everything(self, house: Guarded) -> None:
        await house.grant("bob", {**self.WRITE_ROLES, "verbs": ["create"]}, READ)
        selectors = [{"matchLabels": {"a": "b"}}]
        body = {"metadata": {"name": "sum"}, "aggregationRule": {"clusterRoleSelectors": selectors}}
        refused = await house.ask_as("bob", "POST", f"{RBAC}/clusterroles", body)
        assert refused.code == 403
        assert '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in refused.json["message"]
        assert (await house.ask_as("bob", "POST", f"{RBAC}/clusterroles", body, groups=("system:masters",))).code == 201

    async def _binding(self, house: Guarded, role: str, kind: str = "ClusterRole") -> Told:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        body = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "ann"}]}
        return await house.ask_as("ann", "POST", f"{RBAC}/namespaces/a/rolebindings", body)

    async def test_a_binding_to_a_role_whose_rules_the_author_has(self, house: Guarded) -> None:
        assert (await self._role(house, READ)).code == 201
        assert (await self._binding(house, "r", "Role")).code == 201

    async def test_a_binding_to_a_role_with_more(self, house: Guarded) -> None:
        refused = await self._binding(house, "cluster-admin")
        assert refused.code == 403
        assert "is attempting to grant RBAC permissions not currently held" in refused.json["message"]

    async def test_a_binding_to_a_role_that_is_not_there_cannot_be_prepared(self, house: Guarded) -> None:
        assert (await self._binding(house, "later")).code == 404

    async def test_who_may_bind_the_role_needs_no_rights(self, house: Guarded) -> None:
        rule = {"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
        await house.grant("ann", {**rule, "resourceNames": ["cluster-admin"]}, namespace="a")
        assert (await self._binding(house, "admin")).code == 403
        assert (await self._binding(house, "cluster-admin")).code == 201

    async def test_a_binding_cannot_be_widened_by_who_has_less(self, house: Guarded) -> None:
        name = (await house.bind("bob", "ClusterRole", "cluster-admin", namespace="a")).json["metadata"]["name"]
        change = {"subjects": [{"kind": "User", "name": "ann"}]}
        path, media = f"{RBAC}/namespaces/a/rolebindings/{name}", "application/merge-patch+json"
        assert (await house.ask_as("ann", "PATCH", path, change, media=media)).code == 403

    async def test_rules_with_too_many_combinations_are_refused_and_stall_nobody(self, house: Guarded) -> None:
        many = [str(number) for number in range(500)]
        rule = {"verbs": many, "apiGroups": many, "resources": many}
        assert (await self._role(house, rule)).code == 413


async def test_sums_of_roles_follow_their_parts() -> None:
    async with in_memory("roles") as cluster:
        label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        await rbac_roles.ensure_roles(cluster.api)
        rule = {"verbs": ["get"], "apiGroups": ["acme.com"], "resources": ["things"]}
        made = {"metadata": {"name": "things", "labels": label}, "rules": [rule]}
        assert (await cluster.ask("POST", f"{RBAC}/clusterroles", made)).code == 201
        for present in (True, False):
            await cluster.settle()
            for name in ("view", "edit", "admin"):
                found = (await cluster.ask("GET", f"{RBAC}/clusterroles/{name}")).json["rules"]
                assert (rule in found) is present, name
            await cluster.ask("DELETE", f"{RBAC}/clusterroles/things")


async def test_a_restart_completes_what_somebody_took_apart(house: Guarded) -> None:
    await house.ask("DELETE", f"{RBAC}/clusterroles/view")
    path, media = f"{RBAC}/clusterrolebindings/system:discovery", "application/merge-patch+json"
    await house.ask("PATCH", path, {"subjects": []}, media=media)
    await house.ask("DELETE", f"{RBAC}/clusterrolebindings/cluster-admin")
    wrong = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    await house.ask("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "cluster-admin"}, "roleRef": wrong})
    await rbac_roles.ensure_roles(house.api)
    assert (await house.ask("GET", f"{RBAC}/clusterroles/view")).json["rules"]
    assert [one["name"] for one in (await house.ask("GET", path)).json["subjects"]] == ["system:authenticated"]
    admin = (await house.ask("GET", f"{RBAC}/clusterrolebindings/cluster-admin")).json
    assert admin["roleRef"]["name"] == "cluster-admin"


async def test_expressions_ask_the_same_roles(house: Guarded) -> None:
    await house.bind("ann", "ClusterRole", "view", namespace="a")
    await house.bind("system:serviceaccount:b:robot", "ClusterRole", "view", namespace="b")
    wanted = Attributes("list", "", "pods", namespace="a")
    await house.api.access.rights(User("ann"))
    assert house.api.deciders(User("ann")).decide(wanted).is_allowed
    assert not house.api.deciders(User("bob")).decide(wanted).is_allowed
    assert not house.api.deciders(User("ann")).decide(wanted._replace(resource="secrets")).is_allowed
    other = Attributes("list", "", "pods", namespace="b", service_account=("b", "robot"))
    assert house.api.deciders(User("bob")).decide(other).is_allowed
    assert not house.api.deciders(User("bob")).decide(Attributes("get", path="/metrics")).is_allowed
    assert house.api.deciders(User("root", ("system:masters",))).decide(wanted).is_allowed
