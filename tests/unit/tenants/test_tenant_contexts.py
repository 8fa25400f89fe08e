"""Requests of tenants' users are handled in the contexts of their tenants, which start when they are used, and stop when idle."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from probate.api import tenants
from probate.api.rbac.users import User
from probate.server.app import App
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.context import ServerContext
from probate.server.request_limits import RequestLimits
from probate.tenants import context_factory, tenant_contexts
from support.audit_logs import with_audit_log
from support.rbac_server import RBAC
from support.tenant_server import TENANTS, TenantServer, running_with_tenants, user_of

ADMIN, OTHER = user_of("111111"), user_of("222222")
NOBODY = user_of("111111", "nobody")
ACCOUNTS = "/api/v1/namespaces/web/serviceaccounts"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
CONFIG_MAPS = "/api/v1/namespaces/web/configmaps"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        yield one


async def names(server: TenantServer, user: User, path: str) -> list[str]:
    response = await server.ask(user, "GET", path)
    assert response.code == 200, response.body
    return sorted(one["metadata"]["name"] for one in response.json["items"])


class TestView:
    """What a tenant's user sees."""

    async def test_users_work_in_the_view_of_their_tenant(self, server: TenantServer) -> None:
        assert (await server.ask(ADMIN, "POST", CONFIG_MAPS, body={"metadata": {"name": "c"}})).code == 201
        assert await names(server, ADMIN, "/api/v1/namespaces") == ["web"]
        assert await names(server, ADMIN, "/api/v1/configmaps") == ["c"]
        assert await names(server, OTHER, "/api/v1/configmaps") == []
        assert (await server.request("GET", "/api/v1/namespaces/111111-web/configmaps/c")).code == 200
        assert (await server.ask(ADMIN, "GET", "/api/v1/namespaces/111111-web")).code == 404

    async def test_user_is_named_as_in_the_view(self, server: TenantServer) -> None:
        user = user_of("111111", "admin", "staff")
        review = await server.ask(user, "POST", WHO, body={})
        assert review.json["status"]["userInfo"] == {"username": "admin", "groups": ["staff", "system:authenticated"]}

    async def test_rights_are_those_in_the_view(self, server: TenantServer) -> None:
        await server.grant("nobody", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]})
        subjects = [{"kind": "User", "name": name} for name in ("nobody", "111111-nobody")]
        binding = {"metadata": {"name": "all"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}, "subjects": subjects}
        assert (await server.request("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201  # of the platform
        response = await server.ask(NOBODY, "GET", CONFIG_MAPS)
        assert response.code == 403
        assert 'User "nobody" cannot list resource "configmaps" in API group "" in the namespace "web"' in response.json["message"]
        await server.bind_in_tenant("111111", "cluster-admin", "nobody")
        assert (await server.ask(NOBODY, "GET", CONFIG_MAPS)).code == 200
        assert (await server.ask(user_of("222222", "nobody"), "GET", CONFIG_MAPS)).code == 403

    async def test_masters_of_a_tenant_have_no_rights(self, server: TenantServer) -> None:
        assert (await server.ask(user_of("111111", "nobody", "system:masters"), "GET", CONFIG_MAPS)).code == 403

    async def test_impersonation_stays_in_the_view(self, server: TenantServer) -> None:
        headers = [(b"impersonate-user", b"nobody"), (b"impersonate-group", b"system:masters")]
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS, headers=headers)).code == 403
        review = await server.ask(ADMIN, "POST", WHO, body={}, headers=[(b"impersonate-user", b"222222-admin")])
        assert review.code == 403  # may not create reviews: nobody gave 222222-admin a right in this tenant
        assert '"222222-admin" cannot create' in review.json["message"]
        refused = await server.ask(NOBODY, "GET", CONFIG_MAPS, headers=[(b"impersonate-user", b"admin")])
        assert 'User "nobody" cannot impersonate' in refused.json["message"]

    async def test_administrators_impersonate_in_the_physical_view(self, server: TenantServer) -> None:
        review = await server.ask_as("111111-admin", "POST", WHO, body={})
        assert review.json["status"]["userInfo"]["username"] == "111111-admin"

    async def test_audit_log_has_the_physical_user_and_the_tenant(self, server: TenantServer, tmp_path: Path) -> None:
        async with with_audit_log(server, tmp_path) as log:
            await server.ask(ADMIN, "GET", f"{CONFIG_MAPS}/c", headers=[(b"impersonate-user", b"nobody")])
            await server.request("GET", "/api/v1/namespaces/111111-web/configmaps")
            own, physical = await log.events()
        assert (own["user"]["username"], own["impersonatedUser"]["username"]) == ("111111-admin", "nobody")
        assert (own["requestURI"], own["responseStatus"]["code"]) == (f"{CONFIG_MAPS}/c", 403)
        annotations = {name: value for name, value in own["annotations"].items() if name.startswith("tenant.kubezoo.io/")}
        shown = {"tenant": "111111", "view": "tenant", "user": "admin"}
        assert annotations == {f"tenant.kubezoo.io/{name}": value for name, value in shown.items()}
        assert not [name for name in physical["annotations"] if name.startswith("tenant")]

    async def test_request_limits_know_tenants_apart(self, server: TenantServer) -> None:
        limits = RequestLimits(server.api.limit_log, max_connections=40, max_in_flight=1)
        server.tenant_app = App(server.api, authenticate=server.authenticate, tenants=server.contexts, request_limits=limits)
        async with server.watching(ADMIN, CONFIG_MAPS), server.watching(OTHER, CONFIG_MAPS):
            held = [limits._long_running.count(name) for name in ("tenant 111111", "tenant 222222", "111111-admin", "admin")]
        assert held == [1, 1, 0, 0]

    async def test_metrics_have_no_kinds_of_tenants(self, server: TenantServer) -> None:
        await TestCustomKinds().create_crd(server, ADMIN, "foos.a.com")
        assert (await server.ask(ADMIN, "GET", "/apis/a.com/v1/foos")).code == 200
        assert (await server.ask(ADMIN, "GET", "/api/v1/configmaps")).code == 200
        text = (await server.request("GET", "/metrics")).body
        assert b'resource="configmaps"' in text
        assert b"a.com" not in text.replace(b"111111-a.com", b"")

    async def test_user_of_a_tenant_is_nobody_on_a_server_without_tenants(self, server: TenantServer) -> None:
        server.tenant_app = App(server.api, authenticate=server.authenticate)
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 401


class TestPaths:
    """Which paths and resources a tenant has."""

    @pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis", "/apis/apps", "/openapi/v2", "/openapi/v3", "/version", "/livez"])
    async def test_documents_about_the_api_are_served(self, server: TenantServer, path: str) -> None:
        assert (await server.ask(ADMIN, "GET", path)).code == 200

    @pytest.mark.parametrize(
        "path",
        [
            *("/", "/metrics", "/debug/ownership", "/logs", "/.well-known/openid-configuration", "/openid/v1/jwks", "/apiserver"),
            *("/apis/probate.dev", "/apis/probate.dev/v1alpha1/dependents", "/apis/probate.dev/v1alpha1/owners"),
            *("/readyz/store", "/livez/ping", "//metrics", TENANTS, "/apis/tenant.kubezoo.io"),
            *("/api/v1/componentstatuses", "/apis/networking.k8s.io/v1/servicecidrs", "/api/v1/nodes/n/proxy"),
            *("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/222222-b.com", "/apis/222222-b.com/v1/foos"),
        ],
    )
    async def test_everything_else_is_absent_whatever_the_roles_say(self, server: TenantServer, path: str) -> None:
        assert (await server.ask(ADMIN, "GET", path)).code == 404

    async def test_health_says_nothing_about_the_platform(self, server: TenantServer) -> None:
        server.api.readiness_checks.clear()
        healthy = await server.ask(ADMIN, "GET", "/readyz", query={"verbose": ""})
        assert (healthy.code, healthy.body) == (200, b"ok")
        server.api.readiness_checks["secret"] = lambda: "the disk of the platform is full"
        failing = await server.ask(ADMIN, "GET", "/readyz", query={"verbose": "", "exclude": "secret"})
        assert (failing.code, failing.body) == (500, b"not ok\n")

    async def test_nodes_can_only_be_read(self, server: TenantServer) -> None:
        await server.create("nodes", "", {"metadata": {"name": "n"}})
        assert await names(server, ADMIN, "/api/v1/nodes") == ["n"]
        assert (await server.ask(ADMIN, "DELETE", "/api/v1/nodes/n")).code == 405
        assert (await server.ask(ADMIN, "POST", "/api/v1/nodes", body={"metadata": {"name": "m"}})).code == 405

    async def test_documents_name_no_kind_of_the_platform(self, server: TenantServer) -> None:
        for path in ("/apis", "/openapi/v2", "/openapi/v3"):
            body = (await server.ask(ADMIN, "GET", path)).body
            assert b"kubezoo" not in body
            assert b"/apis/flowcontrol.apiserver.k8s.io" not in body


class TestCustomKinds:
    """Kinds of tenants, and those that the platform shares."""

    async def create_crd(
        self, server: TenantServer, user: User | None, name: str, *, kind: str = "Foo", is_shared: bool = False
    ) -> None:
        plural, _, group = name.partition(".")
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        spec = {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }
        crd = {"metadata": {"name": name, "labels": {tenants.SHARED_LABEL: "true"} if is_shared else {}}, "spec": spec}
        asked = server.request("POST", CRDS, crd) if user is None else server.ask(user, "POST", CRDS, body=crd)
        assert (await asked).code == 201

    async def test_kinds_of_a_tenant_are_served_to_it_alone(self, server: TenantServer) -> None:
        await self.create_crd(server, ADMIN, "foos.a.com")
        path = "/apis/a.com/v1/namespaces/web/foos"
        foo = {"apiVersion": "a.com/v1", "kind": "Foo", "metadata": {"name": "x"}}
        assert (await server.ask(ADMIN, "POST", path, body=foo)).code == 201
        assert await names(server, ADMIN, path) == ["x"]
        for user in (OTHER, ADMIN):
            groups = [group["name"] for group in (await server.ask(user, "GET", "/apis")).json["groups"]]
            assert ("a.com" in groups) == (user is ADMIN)
            assert b"111111-a.com" not in (await server.ask(user, "GET", "/openapi/v2")).body
        assert (await server.ask(OTHER, "GET", path)).code == 404
        assert (await server.ask(OTHER, "GET", "/apis/111111-a.com/v1/foos")).code == 404

    async def test_shared_kinds_are_served_to_all(self, server: TenantServer) -> None:
        await self.create_crd(server, None, "foos.plat.io", is_shared=True)
        path = "/apis/plat.io/v1/namespaces/web/foos"
        foo = {"apiVersion": "plat.io/v1", "kind": "Foo", "metadata": {"name": "x"}}
        assert (await server.ask(ADMIN, "POST", path, body=foo)).code == 201
        assert (await names(server, ADMIN, path), await names(server, OTHER, path)) == (["x"], [])
        assert (await server.ask(ADMIN, "DELETE", f"{CRDS}/foos.plat.io")).code == 403

    async def test_shared_kind_whose_names_conflict_outside_the_view_does_not_stop_the_tenant(self, server: TenantServer) -> None:
        await self.create_crd(server, None, "foos.plat.io")
        await self.create_crd(server, None, "bars.plat.io", is_shared=True)
        assert await names(server, ADMIN, CRDS) == ["bars.plat.io"]
        assert (await server.ask(ADMIN, "GET", "/apis/plat.io/v1")).code == 404
        stored = (await server.request("GET", f"{CRDS}/bars.plat.io")).json["status"]["conditions"]
        assert {one["type"]: one["status"] for one in stored} == {"NamesAccepted": "False", "Established": "False"}


class TestTokens:
    """Service accounts of a tenant."""

    async def test_tokens_name_the_account_as_in_the_physical_view(self, server: TenantServer) -> None:
        token = await self.token(server)
        found = await RequestAuthenticator(server.clock, server.api.service_accounts).authenticate_token(token, ())
        assert (found.user.name, found.user.tenant) == ("system:serviceaccount:111111-web:robot", "111111")

    async def test_reviews_know_the_tenants_own_tokens_in_its_names(self, server: TenantServer) -> None:
        token = await self.token(server)
        own, foreign = [(await server.ask(user, "POST", REVIEWS, body={"spec": {"token": token}})).json for user in (ADMIN, OTHER)]
        assert own["status"]["user"]["username"] == "system:serviceaccount:web:robot"
        assert "system:serviceaccounts:web" in own["status"]["user"]["groups"]
        assert foreign["status"]["authenticated"] is False
        physical = await server.request("POST", REVIEWS, {"spec": {"token": token}})
        assert physical.json["status"]["user"]["username"] == "system:serviceaccount:111111-web:robot"

    async def test_no_tokens_are_issued_while_the_tenant_is_deleted(self, server: TenantServer) -> None:
        await self.token(server)
        await server.request("DELETE", f"{TENANTS}/111111")
        refused = await server.ask(ADMIN, "POST", f"{ACCOUNTS}/robot/token", body={"spec": {}})
        assert (refused.code, refused.json["details"]["causes"][0]["reason"]) == (403, "TenantTerminating")
        assert await names(server, ADMIN, ACCOUNTS) == ["robot"]

    async def token(self, server: TenantServer) -> str:
        assert (await server.ask(ADMIN, "POST", ACCOUNTS, body={"metadata": {"name": "robot"}})).code == 201
        issued = await server.ask(ADMIN, "POST", f"{ACCOUNTS}/robot/token", body={"spec": {}})
        assert issued.code == 201, issued.body
        return str(issued.json["status"]["token"])


def test_services_of_webhooks_are_the_tenants_own() -> None:
    given = {
        "111111-web/hook:443": "https://a",
        "111111-web/other": "https://b",
        "web/hook": "https://c",
        "222222-web/hook": "https://d",
    }
    assert context_factory.own_services(given, "111111") == {"web/hook:443": "https://a", "web/other": "https://b"}


class TestLife:
    """When contexts start and stop."""

    async def test_requests_at_the_same_time_share_one_start(self, server: TenantServer) -> None:
        server.sender = ADMIN
        made: list[str] = []
        make = server.factory.make
        server.factory.make = lambda tenant: (made.append(tenant), make(tenant))[1]  # type: ignore[method-assign,func-returns-value]
        assert len(server.contexts) == 0
        views = await asyncio.gather(*(server.contexts.view(ADMIN) for _ in range(10)))
        assert (len({id(context) for context, _ in views}), made, len(server.contexts)) == (1, ["111111"], 1)

    async def test_context_of_a_waiting_request_starts_although_another_one_is_cancelled(self, server: TenantServer) -> None:
        first, second = (asyncio.create_task(server.contexts.view(ADMIN)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).user.name == "admin"

    async def test_idle_context_stops_and_starts_again(self, server: TenantServer) -> None:
        await server.ask(ADMIN, "POST", CONFIG_MAPS, body={"metadata": {"name": "c"}})
        await server.clock.advance(tenant_contexts.IDLE_SECONDS - tenant_contexts.CHECK_SECONDS)
        assert await names(server, ADMIN, CONFIG_MAPS) == ["c"]
        await server.clock.advance(tenant_contexts.IDLE_SECONDS - tenant_contexts.CHECK_SECONDS)
        assert len(server.contexts) == 1
        await server.clock.advance(2 * tenant_contexts.CHECK_SECONDS)
        assert len(server.contexts) == 0
        assert await names(server, ADMIN, CONFIG_MAPS) == ["c"]

    async def test_open_watch_keeps_its_context(self, server: TenantServer) -> None:
        async with server.watching(ADMIN, CONFIG_MAPS) as stream:
            await server.clock.advance(3 * tenant_contexts.IDLE_SECONDS)
            assert len(server.contexts) == 1
            await server.create("configmaps", "111111-web", {"metadata": {"name": "c"}})
            await server.yield_to_loop()
            assert [(one["type"], one["object"]["metadata"]["namespace"]) for one in stream.events] == [("ADDED", "web")]
        await server.clock.advance(2 * tenant_contexts.IDLE_SECONDS)
        assert len(server.contexts) == 0

    async def test_watches_of_a_deleted_tenant_end_with_410(self, server: TenantServer) -> None:
        async with server.watching(ADMIN, CONFIG_MAPS) as stream, server.watching(OTHER, CONFIG_MAPS) as other:
            await server.remove_tenant("111111")
            await server.yield_to_loop()
            assert (stream.is_over, len(server.contexts)) == (True, 1)
            status = stream.events[-1]
            assert (status["type"], status["object"]["code"], status["object"]["reason"]) == ("ERROR", 410, "Expired")
            assert status["object"]["message"] == "tenant deleted"
            assert not other.is_over
            await server.create("configmaps", "222222-web", {"metadata": {"name": "c"}})
            await server.yield_to_loop()
            assert [one["type"] for one in other.events] == ["ADDED"]
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 401

    async def test_nothing_of_a_deleted_tenant_is_kept(self, server: TenantServer) -> None:
        evicted: list[str] = []

        async def evict(tenant: str) -> None:
            evicted.append(tenant)

        server.per_tenant.register(evict)
        await TestCustomKinds().create_crd(server, ADMIN, "foos.a.com")
        async with server.watching(ADMIN, CONFIG_MAPS):
            for path in ("/apis", "/openapi/v3"):
                assert (await server.ask(ADMIN, "GET", path, accept=_AGGREGATED)).code == 200
            context = weakref.ref((await server.contexts.view(ADMIN)).context)
            tasks = len(asyncio.all_tasks())
            await server.remove_tenant("111111")
            await server.yield_to_loop()
        gc.collect()
        assert (evicted, len(server.contexts), context()) == (["111111"], 0, None)
        assert len(asyncio.all_tasks()) < tasks - 15
        assert not server.api.openapi_cache
        assert not server.api.discovery_cache

    async def test_tenant_that_is_gone_before_its_context_has_started_is_nobodys(self, server: TenantServer) -> None:
        install = server.factory.install

        async def remove_meanwhile(context: ServerContext) -> None:
            await install(context)
            await server.remove_tenant("111111")
            await server.yield_to_loop()

        server.factory.install = remove_meanwhile
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 401
        await server.yield_to_loop()
        assert len(server.contexts) == 0

    async def test_failed_start_is_tried_again(self, server: TenantServer) -> None:
        install = server.factory.install

        async def fail(_: Any) -> None:
            raise RuntimeError("no")

        server.factory.install = fail
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 500
        server.factory.install = install
        assert (await server.ask(ADMIN, "GET", CONFIG_MAPS)).code == 200


_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_everything_stops_with_the_server() -> None:
    before = asyncio.all_tasks()
    async with running_with_tenants("111111", "222222") as server:
        await server.ask(ADMIN, "GET", CONFIG_MAPS)
        start = asyncio.create_task(server.contexts.view(OTHER))
        await asyncio.sleep(0)
        async with server.watching(ADMIN, CONFIG_MAPS):
            pass
    await asyncio.wait([start])
    assert asyncio.all_tasks() <= before
