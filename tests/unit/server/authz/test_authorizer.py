"""Authorization over HTTP: each right both ways. Grants and revocations take effect at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest

from probate.api.rbac.cel_authorizer import Attributes
from probate.api.rbac.users import User
from probate.server.app import App
from support import bootstrap
from support.in_process_server import Response
from support.rbac_server import RBAC, RbacServer, running_with_rbac
from support.virtual_time_server import in_memory

READ = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"]}
MAPS = "/api/v1/namespaces/a/configmaps"


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        yield item


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
async def test_each_verb_needs_its_rule(server: RbacServer, way: str) -> None:
    verb, resource, group, request, name = WAYS[way]
    await server.create("configmaps", "a", {"metadata": {"name": "x"}})
    others = sorted({item[0] for item in WAYS.values()} - {verb})
    await server.grant("ann", {"verbs": others, "apiGroups": [group], "resources": [resource]}, namespace="a")
    refused = await server.ask_as("ann", **request)
    assert refused.code == 403
    if request["method"] != "HEAD":
        about = f'{resource} "{name}"' if name else resource
        response = (
            f'{about} is forbidden: User "ann" cannot {verb} resource "{resource}" in API group "{group}" in the namespace "a"'
        )
        assert refused.json["message"].startswith(response)
        cause = refused.json["details"]["causes"][0]
        assert cause == {
            "reason": "MissingRule",
            "message": f'{{"verbs": ["{verb}"], "apiGroups": [""], "resources": ["configmaps"]}}',
        }
    await server.grant("ann", {"verbs": [verb], "apiGroups": [group], "resources": [resource]}, namespace="a")
    assert (await server.ask_as("ann", **request)).code in {200, 201}


async def test_grants_and_revocations_take_effect_at_once(server: RbacServer) -> None:
    for _ in range(5):
        assert (await server.ask_as("ann", "GET", MAPS)).code == 403
        binding = (await server.bind("ann", "ClusterRole", "view", namespace="a")).json["metadata"]["name"]
        assert (await server.ask_as("ann", "GET", MAPS)).code == 200
        assert (await server.request("DELETE", f"{RBAC}/namespaces/a/rolebindings/{binding}")).code == 200


async def test_cached_user_has_exactly_the_current_rights(server: RbacServer) -> None:
    """Repeated requests are authorized from the cache until roles or bindings change."""
    ann = User("ann")
    anns = App(server.api, authenticate=lambda _: asyncio.sleep(0, ann), authenticate_cached=lambda _: ann)

    async def code(method: str, path: str, **query: str) -> int:
        own, server.app = server.app, anns
        try:
            return (await server.request(method, path, query=query)).code
        finally:
            server.app = own

    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"]}
    for name in ("x", "y"):
        await server.create("configmaps", "a", {"metadata": {"name": name}})
    for _ in range(3):
        assert [await code("GET", f"{MAPS}/x") for _ in range(3)] == [403, 403, 403]
        await server.grant("ann", rule, namespace="a")
        assert [await code("GET", f"{MAPS}/x") for _ in range(3)] == [200, 200, 200]
        assert [await code(*request) for request in (("GET", f"{MAPS}/y"), ("DELETE", f"{MAPS}/x"), ("GET", MAPS))] == [
            403,
            403,
            403,
        ]
        assert await code("GET", MAPS, fieldSelector="metadata.name=x") == 200
        assert [await code("GET", MAPS), await code("GET", MAPS, fieldSelector="metadata.name=y")] == [403, 403]
        assert (await server.request("DELETE", f"{RBAC}/namespaces/a/rolebindings")).code == 200


async def test_role_in_one_namespace_grants_nothing_elsewhere(server: RbacServer) -> None:
    await server.grant("ann", READ, namespace="a")
    assert (await server.ask_as("ann", "GET", MAPS)).code == 200
    assert (await server.ask_as("ann", "GET", "/api/v1/namespaces/b/configmaps")).code == 403
    everywhere = await server.ask_as("ann", "GET", "/api/v1/configmaps")
    assert everywhere.json["message"].startswith(
        'configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" at the cluster scope'
    )


async def test_watch_needs_its_own_right(server: RbacServer) -> None:
    await server.grant("ann", {**READ, "verbs": ["list"]}, namespace="a")
    assert (await server.ask_as("ann", "GET", MAPS, query={"watch": "1"})).code == 403
    assert (await server.ask_as("ann", "GET", MAPS, query={"watch": "0"})).code == 200
    assert (await server.ask_as("ann", "GET", "/api/v1/watch/namespaces/a/configmaps")).code == 403


async def test_resource_name_allows_a_list_of_that_name_only(server: RbacServer) -> None:
    await server.create("configmaps", "a", {"metadata": {"name": "x"}})
    await server.grant("ann", {**READ, "resourceNames": ["x"]}, namespace="a")
    for selector, code in (
        ("metadata.name=x", 200),
        ("metadata.name==x", 200),
        ("metadata.name=y", 403),
        ("metadata.name!=x", 403),
    ):
        assert (await server.ask_as("ann", "GET", MAPS, query={"fieldSelector": selector})).code == code, selector
    assert (await server.ask_as("ann", "GET", MAPS)).code == 403
    assert (await server.ask_as("ann", "GET", f"{MAPS}/x")).code == 200
    assert (await server.ask_as("ann", "GET", f"{MAPS}/y")).code == 403


async def test_a_subresource_needs_its_own_right(server: RbacServer) -> None:
    await server.create("apis/apps/v1/deployments", "a", _deployment())
    await server.grant("ann", {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments"]}, namespace="a")
    path = "/apis/apps/v1/namespaces/a/deployments/d/scale"
    refused = await server.ask_as("ann", "GET", path)
    assert 'cannot get resource "deployments/scale" in API group "apps"' in refused.json["message"]
    await server.grant("ann", {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*/scale"]}, namespace="a")
    assert (await server.ask_as("ann", "GET", path)).code == 200


def _deployment() -> dict[str, Any]:
    labels = {"app": "d"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


async def test_role_can_grant_rights_to_its_own_namespace(server: RbacServer) -> None:
    await server.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}, namespace="a")
    assert (await server.ask_as("ann", "GET", "/api/v1/namespaces/a")).code == 200
    assert (await server.ask_as("ann", "GET", "/api/v1/namespaces/b")).code == 403
    assert (await server.ask_as("ann", "GET", "/api/v1/namespaces")).code == 403


async def test_update_that_creates_needs_create(server: RbacServer) -> None:
    path, body = "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", {"metadata": {"name": "l"}}
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    await server.grant("ann", {"verbs": ["update"], **rule}, namespace="a")
    refused = await server.ask_as("ann", "PUT", path, body=body)
    assert refused.code == 403
    assert 'cannot create resource "leases"' in refused.json["message"]
    await server.grant("bob", {"verbs": ["update", "create"], **rule}, namespace="a")
    assert (await server.ask_as("bob", "PUT", path, body=body)).code == 201


async def test_apply_that_creates_needs_create(server: RbacServer) -> None:
    await server.grant("ann", {"verbs": ["patch"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    request: dict[str, Any] = {"query": {"fieldManager": "m"}, "media": "application/apply-patch+yaml"}
    refused = await server.ask_as("ann", "PATCH", f"{MAPS}/x", body=document, **request)
    assert refused.code == 403
    assert 'cannot create resource "configmaps"' in refused.json["message"]
    await server.create("configmaps", "a", {"metadata": {"name": "x"}})
    assert (await server.ask_as("ann", "PATCH", f"{MAPS}/x", body=document, **request)).code == 200


async def test_non_resource_paths(server: RbacServer) -> None:
    for path, code in (("/version", 200), ("/api", 200), ("/apis/apps/v1", 200), ("/livez", 200), ("/metrics", 403)):
        assert (await server.ask_as("ann", "GET", path)).code == code, path
    refused = await server.ask_as("ann", "GET", "/metrics")
    assert refused.json["message"].startswith('forbidden: User "ann" cannot get path "/metrics"')
    await server.grant("ann", {"verbs": ["get"], "nonResourceURLs": ["/metrics"]})
    assert (await server.ask_as("ann", "GET", "/metrics")).code == 200


@pytest.mark.parametrize("path", ["/debug/ownership", "/apis/probate.dev/v1alpha1/dependents", "/apis/probate.dev/v1alpha1/owners"])
async def test_discovery_does_not_grant_the_ownership_api(server: RbacServer, path: str) -> None:
    request: dict[str, Any] = {"query": {"uid": "u"}}
    assert (await server.ask_as("ann", "GET", path, **request)).code == 403
    assert (await server.request("GET", path, **request)).code != 403


async def test_error_names_a_bound_role_that_does_not_exist(server: RbacServer) -> None:
    await server.bind("ann", "ClusterRole", "nowhere", namespace="a")
    response = (await server.ask_as("ann", "GET", MAPS)).json["message"]
    assert 'in the namespace "a": RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found' in response


async def test_masters_may_do_anything(server: RbacServer) -> None:
    for resource in ("clusterrolebindings", "clusterroles"):
        assert (await server.request("DELETE", f"{RBAC}/{resource}")).code == 200
    assert (await server.ask_as("ann", "GET", MAPS, groups=("system:masters",))).code == 200


class TestImpersonation:
    """Impersonation takes a right for each user, group, uid and extra value."""

    async def test_needs_the_right_for_each_part(self, server: RbacServer) -> None:
        headers = [(b"impersonate-user", b"bob"), (b"impersonate-group", b"g"), (b"impersonate-uid", b"7")]
        headers.append((b"impersonate-extra-acme.com%2fproject", b"p"))
        needed = [("", "users", "bob"), ("", "groups", "g"), ("authentication.k8s.io", "uids", "7")]
        needed.append(("authentication.k8s.io", "userextras/acme.com/project", "p"))
        await server.grant("bob", READ, namespace="a")
        for group, resource, name in needed:
            refused = await self._nested(server, "ann", headers)
            assert refused.code == 403
            assert f'"{name}" is forbidden: User "ann" cannot impersonate resource "{resource}"' in refused.json["message"]
            await server.grant(
                "ann", {"verbs": ["impersonate"], "apiGroups": [group], "resources": [resource], "resourceNames": [name]}
            )
        assert (await self._nested(server, "ann", headers)).code == 200

    async def _nested(self, server: RbacServer, user: str, headers: list[tuple[bytes, bytes]]) -> Response:
        """Sends a request as an impersonated user who impersonates another one."""

        async def recognise(_: object) -> User:
            return User(user, ("system:authenticated",))

        everybody, server.app = server.app, App(server.api, authenticate=recognise)
        try:
            return await server.request("GET", MAPS, headers=headers)
        finally:
            server.app = everybody

    async def test_of_a_service_account_needs_the_right_to_that_account(self, server: RbacServer) -> None:
        headers = [(b"impersonate-user", b"system:serviceaccount:b:robot")]
        rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}
        await server.grant("system:serviceaccount:b:robot", READ, namespace="a")
        await server.grant("ann", rule, namespace="a")
        assert (await self._nested(server, "ann", headers)).code == 403
        await server.grant("ann", rule, namespace="b")
        assert (await self._nested(server, "ann", headers)).code == 200

    async def test_a_service_account_is_in_its_groups(self, server: RbacServer) -> None:
        subjects = [{"kind": "Group", "name": "system:serviceaccounts:b"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        body = {"metadata": {"name": "robots"}, "roleRef": reference, "subjects": subjects}
        assert (await server.request("POST", f"{RBAC}/namespaces/a/rolebindings", body)).code == 201
        assert (await server.ask_as("system:serviceaccount:b:robot", "GET", MAPS)).code == 200
        assert (await server.ask_as("system:serviceaccount:a:robot", "GET", MAPS)).code == 403

    @pytest.mark.parametrize(
        ("verbs", "code"),
        [(["impersonate:user-info", "impersonate-on:user-info:get", "impersonate-on:user-info:list"], 403), (["impersonate"], 200)],
    )
    async def test_constrained_verbs_grant_nothing(self, server: RbacServer, verbs: list[str], code: int) -> None:
        await server.grant("bob", READ, namespace="a")
        await server.grant(
            "ann", {"verbs": verbs, "apiGroups": ["", "authentication.k8s.io"], "resources": ["users", "configmaps"]}
        )
        assert (await self._nested(server, "ann", [(b"impersonate-user", b"bob")])).code == code

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
    async def test_headers_must_name_one_user(self, server: RbacServer, headers: list[tuple[bytes, bytes]]) -> None:
        assert (await server.request("GET", MAPS, headers=headers)).code == 400


class TestEscalation:
    """Users cannot grant rights that they do not have."""

    WRITE_ROLES: ClassVar = {"verbs": ["create", "update", "patch"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    SECRETS: ClassVar = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}

    @pytest.fixture
    async def server(self) -> AsyncIterator[RbacServer]:
        async with running_with_rbac() as server:
            await server.grant("ann", self.WRITE_ROLES, READ, namespace="a")
            yield server

    async def _role(self, server: RbacServer, *rules: dict[str, Any], method: str = "POST", user: str = "ann") -> Response:
        path = f"{RBAC}/namespaces/a/roles" + ("/r" if method != "POST" else "")
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return await server.ask_as(user, method, path, body={"metadata": {"name": "r"}, "rules": list(rules)}, media=media)

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
    async def test_role_may_have_rules_that_its_author_has(self, server: RbacServer, method: str) -> None:
        if method != "POST":
            await self._role(server)
        assert (await self._role(server, {**READ, "verbs": ["get"]}, method=method)).code in {200, 201}

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
    async def test_role_may_not_have_rules_that_its_author_lacks(self, server: RbacServer, method: str) -> None:
        if method != "POST":
            await self._role(server)
        refused = await self._role(server, READ, self.SECRETS, method=method)
        assert refused.code == 403
        response = (
            'roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant'
        )
        assert refused.json["message"].startswith(response)
        assert refused.json["message"].endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')

    async def test_apply_is_checked_too(self, server: RbacServer) -> None:
        document = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "r"},
            "rules": [self.SECRETS],
        }
        request: dict[str, Any] = {"query": {"fieldManager": "m"}, "media": "application/apply-patch+yaml"}
        assert (await server.ask_as("ann", "PATCH", f"{RBAC}/namespaces/a/roles/r", body=document, **request)).code == 403
        assert (await server.request("GET", f"{RBAC}/namespaces/a/roles/r")).code == 404

    async def test_escalate_verb_skips_the_check(self, server: RbacServer) -> None:
        rule = {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "resourceNames": ["r"]}
        await server.grant("ann", rule, namespace="a")
        assert (await self._role(server, self.SECRETS)).code == 201

    async def test_owners_and_finalizers_of_a_wider_role_may_change_but_not_its_labels(self, server: RbacServer) -> None:
        body = {"metadata": {"name": "r"}, "rules": [self.SECRETS]}
        assert (await server.request("POST", f"{RBAC}/namespaces/a/roles", body)).code == 201
        path, media = f"{RBAC}/namespaces/a/roles/r", "application/merge-patch+json"
        for change, code in (({"finalizers": ["a.example.com/b"]}, 200), ({"labels": {"a": "b"}}, 403), ({}, 200)):
            assert (await server.ask_as("ann", "PATCH", path, body={"metadata": change}, media=media)).code == code, change
        assert (await self._role(server, self.SECRETS, READ, method="PUT")).code == 403

    async def test_aggregated_role_needs_all_rights(self, server: RbacServer) -> None:
        await server.grant("bob", {**self.WRITE_ROLES, "verbs": ["create"]}, READ)
        selectors = [{"matchLabels": {"a": "b"}}]
        body = {"metadata": {"name": "sum"}, "aggregationRule": {"clusterRoleSelectors": selectors}}
        refused = await server.ask_as("bob", "POST", f"{RBAC}/clusterroles", body=body)
        assert refused.code == 403
        assert '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in refused.json["message"]
        assert (await server.ask_as("bob", "POST", f"{RBAC}/clusterroles", body=body, groups=("system:masters",))).code == 201

    async def _binding(self, server: RbacServer, role: str, kind: str = "ClusterRole") -> Response:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        body = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "ann"}]}
        return await server.ask_as("ann", "POST", f"{RBAC}/namespaces/a/rolebindings", body=body)

    async def test_binding_to_a_role_whose_rules_the_author_has(self, server: RbacServer) -> None:
        assert (await self._role(server, READ)).code == 201
        assert (await self._binding(server, "r", "Role")).code == 201

    async def test_binding_to_a_wider_role_is_forbidden(self, server: RbacServer) -> None:
        refused = await self._binding(server, "cluster-admin")
        assert refused.code == 403
        assert "is attempting to grant RBAC permissions not currently held" in refused.json["message"]

    async def test_binding_to_a_missing_role_is_forbidden(self, server: RbacServer) -> None:
        assert (await self._binding(server, "later")).code == 404

    async def test_bind_verb_skips_the_check(self, server: RbacServer) -> None:
        rule = {"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
        await server.grant("ann", {**rule, "resourceNames": ["cluster-admin"]}, namespace="a")
        assert (await self._binding(server, "admin")).code == 403
        assert (await self._binding(server, "cluster-admin")).code == 201

    async def test_subjects_cannot_be_added_to_a_binding_to_a_wider_role(self, server: RbacServer) -> None:
        name = (await server.bind("bob", "ClusterRole", "cluster-admin", namespace="a")).json["metadata"]["name"]
        change = {"subjects": [{"kind": "User", "name": "ann"}]}
        path, media = f"{RBAC}/namespaces/a/rolebindings/{name}", "application/merge-patch+json"
        assert (await server.ask_as("ann", "PATCH", path, body=change, media=media)).code == 403

    async def test_rules_with_too_many_combinations_are_refused_at_once(self, server: RbacServer) -> None:
        many = [str(number) for number in range(500)]
        rule = {"verbs": many, "apiGroups": many, "resources": many}
        assert (await self._role(server, rule)).code == 413


async def test_aggregated_roles_follow_their_parts() -> None:
    async with in_memory("roles") as cluster:
        label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        await bootstrap.ensure_roles(cluster.api)
        rule = {"verbs": ["get"], "apiGroups": ["acme.com"], "resources": ["things"]}
        created = {"metadata": {"name": "things", "labels": label}, "rules": [rule]}
        assert (await cluster.request("POST", f"{RBAC}/clusterroles", created)).code == 201
        for present in (True, False):
            await cluster.settle()
            for name in ("view", "edit", "admin"):
                result = (await cluster.request("GET", f"{RBAC}/clusterroles/{name}")).json["rules"]
                assert (rule in result) is present, name
            await cluster.request("DELETE", f"{RBAC}/clusterroles/things")


async def test_restart_restores_default_roles(server: RbacServer) -> None:
    await server.request("DELETE", f"{RBAC}/clusterroles/view")
    path, media = f"{RBAC}/clusterrolebindings/system:discovery", "application/merge-patch+json"
    await server.request("PATCH", path, {"subjects": []}, media=media)
    await server.request("DELETE", f"{RBAC}/clusterrolebindings/cluster-admin")
    wrong = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    await server.request("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "cluster-admin"}, "roleRef": wrong})
    await bootstrap.ensure_roles(server.api)
    assert (await server.request("GET", f"{RBAC}/clusterroles/view")).json["rules"]
    assert [item["name"] for item in (await server.request("GET", path)).json["subjects"]] == ["system:authenticated"]
    admin = (await server.request("GET", f"{RBAC}/clusterrolebindings/cluster-admin")).json
    assert admin["roleRef"]["name"] == "cluster-admin"


async def test_cel_authorizer_uses_the_same_roles(server: RbacServer) -> None:
    await server.bind("ann", "ClusterRole", "view", namespace="a")
    await server.bind("system:serviceaccount:b:robot", "ClusterRole", "view", namespace="b")
    expected = Attributes("list", "", "pods", namespace="a")
    await server.api.authorizer.rights(User("ann"))
    assert server.api.authorizer.cel_authorizer(User("ann")).decide(expected).is_allowed
    assert not server.api.authorizer.cel_authorizer(User("bob")).decide(expected).is_allowed
    assert not server.api.authorizer.cel_authorizer(User("ann")).decide(expected._replace(resource="secrets")).is_allowed
    other = Attributes("list", "", "pods", namespace="b", service_account=("b", "robot"))
    assert server.api.authorizer.cel_authorizer(User("bob")).decide(other).is_allowed
    assert not server.api.authorizer.cel_authorizer(User("bob")).decide(Attributes("get", path="/metrics")).is_allowed
    assert server.api.authorizer.cel_authorizer(User("root", ("system:masters",))).decide(expected).is_allowed
