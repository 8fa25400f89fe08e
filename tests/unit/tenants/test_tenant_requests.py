"""What a tenant's user sees: the view of its tenant, and which paths and kinds there are in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probate.api.rbac.users import User
from probate.server.app import App
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.bootstrap import api_services
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.request_limits import RequestLimits
from probate.tenants import context_factory
from support.audit_logs import with_audit_log
from support.rbac_server import RBAC
from support.tenant_server import CRDS, TENANTS, TenantServer, running_with_tenants, user_of

ADMIN, OTHER = user_of("111111"), user_of("222222")
NOBODY = user_of("111111", "nobody")
ACCOUNTS = "/api/v1/namespaces/web/serviceaccounts"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
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
        await server.create_crd(ADMIN, "foos.a.com")
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

    async def test_apiservices_are_those_of_served_groups(self, server: TenantServer) -> None:
        await api_services.sync_api_services(server.api.store, CreationPlanner(server.api.kinds, server.api.preparer))
        shown = await names(server, ADMIN, API_SERVICES)
        groups = [group["name"] for group in (await server.ask(ADMIN, "GET", "/apis")).json["groups"]]
        assert {name.partition(".")[2] for name in shown} == {"", *groups} - {"apiregistration.k8s.io"}
        assert (await server.ask(ADMIN, "DELETE", f"{API_SERVICES}/v1.apps")).code == 405

    async def test_documents_name_no_kind_of_the_platform(self, server: TenantServer) -> None:
        for path in ("/apis", "/openapi/v2", "/openapi/v3"):
            body = (await server.ask(ADMIN, "GET", path)).body
            assert b"kubezoo" not in body
            assert b"/apis/flowcontrol.apiserver.k8s.io" not in body


class TestCustomKinds:
    """Kinds of tenants, and those that the platform shares."""

    async def test_kinds_of_a_tenant_are_served_to_it_alone(self, server: TenantServer) -> None:
        await server.create_crd(ADMIN, "foos.a.com")
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
        await server.create_crd(None, "foos.plat.io", is_shared=True)
        path = "/apis/plat.io/v1/namespaces/web/foos"
        foo = {"apiVersion": "plat.io/v1", "kind": "Foo", "metadata": {"name": "x"}}
        assert (await server.ask(ADMIN, "POST", path, body=foo)).code == 201
        assert (await names(server, ADMIN, path), await names(server, OTHER, path)) == (["x"], [])
        assert (await server.ask(ADMIN, "DELETE", f"{CRDS}/foos.plat.io")).code == 403

    async def test_shared_kind_whose_names_conflict_outside_the_view_does_not_stop_the_tenant(self, server: TenantServer) -> None:
        await server.create_crd(None, "foos.plat.io")
        await server.create_crd(None, "bars.plat.io", is_shared=True)
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
