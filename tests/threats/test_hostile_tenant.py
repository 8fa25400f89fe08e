"""A tenant's user with all rights in the tenant tries to get those of the platform, or of another tenant: by who it says it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import User
from probate.core import errors
from support.certificate_requests import CLIENT, csr_object, csr_pem, subject
from support.rbac_server import RBAC
from support.tenant_server import TENANTS, TenantServer, running_with_tenants, user_of

ADMIN, VICTIM, NOBODY = user_of("111111"), user_of("222222"), user_of("111111", "nobody")
WHO, REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews", "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SECRETS = "/api/v1/namespaces/web/secrets"
FOREIGN = ("222222-web", "a", "nowhere")
"""Namespaces of another tenant, of the platform, and of nobody: for the tenant, there is none of them."""


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        for user, text in ((ADMIN, "own"), (VICTIM, "victim")):
            made = await one.ask(user, "POST", SECRETS, body={"metadata": {"name": "s"}, "stringData": {"k": text}})
            assert made.code == 201
        yield one


async def account_token(server: TenantServer, user: User | None, namespace: str, **spec: Any) -> str:
    """Returns a token of the account `robot`; `user` is None for an administrator."""
    ask = server.request if user is None else lambda *args: server.ask(user, *args[:2], body=args[2])
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await ask("POST", path, {"metadata": {"name": "robot"}})
    made = await ask("POST", f"{path}/robot/token", {"spec": spec})
    assert made.code == 201, made.body
    return str(made.json["status"]["token"])


PROCESS_PATHS = (
    *("/metrics", "/metrics/", "//metrics", "/logs", "/logs/x", "/debug", "/debug/tenants", "/debug/ownership", "/"),
    *("/readyz/etcd", "/openid/v1/jwks", "/.well-known/openid-configuration", "/apis/probate.dev", "/apis/probate.dev/"),
    *("/apis/probate.dev/v1alpha1/owners", "/apis/probate.dev/v1alpha1/dependents", "/apis//probate.dev/v1alpha1/owners"),
    *("/apis/../metrics", "/api/../debug/tenants", "/openapi/../metrics", "/openapi/v2/../../debug/tenants"),
)


@pytest.mark.parametrize("user", [ADMIN, NOBODY], ids=["admin", "nobody"])
async def test_paths_about_the_process_do_not_exist(server: TenantServer, user: User) -> None:
    for path in PROCESS_PATHS:
        assert (await server.ask(user, "GET", path)).code in ({404} if user is ADMIN else {403, 404}), path


async def test_health_is_shown_without_details(server: TenantServer) -> None:
    for path in ("/healthz", "/readyz", "/livez"):
        for query in ({}, {"verbose": ""}, {"verbose": "", "exclude": "x"}):
            assert (await server.ask(ADMIN, "GET", path, query=query)).body in {b"ok", b"not ok\n"}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_tenants_do_not_exist(server: TenantServer, method: str) -> None:
    for path in ("", "/111111", "/222222", "/222222/kubeconfig", "/111111/kubeconfig", "/222222/status", "/333333"):
        response = await server.ask(ADMIN, method, f"{TENANTS}{path}", body={"metadata": {"name": "333333"}})
        assert response.code == 404, (method, path)
    assert len((await server.request("GET", TENANTS)).json["items"]) == 2


async def test_documents_name_nothing_of_the_platform_and_of_others(server: TenantServer) -> None:
    group = {"group": "v.com", "names": {"plural": "vs", "kind": "Vault"}, "scope": "Cluster"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    crd = {"metadata": {"name": "vs.v.com"}, "spec": {**group, "versions": versions}}
    made = await server.ask(VICTIM, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=crd)
    assert made.code == 201, made.body
    assert b"v.com" in (await server.ask(VICTIM, "GET", "/apis")).body
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    for path, accept in (("/apis", "application/json"), ("/apis", aggregated), ("/api", aggregated), ("/openapi/v3", "*/*")):
        body = (await server.ask(ADMIN, "GET", path, accept=accept)).body
        assert body, path
        assert not [word for word in (b"kubezoo", b"probate.dev", b"v.com", b"222222", b"111111") if word in body]
    for name in ("v.com", "222222-v.com", "tenant.kubezoo.io", "nowhere.com"):
        for path in (f"/apis/{name}", f"/apis/{name}/v1", f"/openapi/v3/apis/{name}/v1"):
            assert (await server.ask(ADMIN, "GET", path)).code == 404, path


IMPERSONATED = (
    ("system:admin", "system:masters"),
    ("system:probate", "system:masters"),
    ("system:unsecured", "system:masters"),
    ("system:kube-controller-manager", "system:nodes"),
    ("system:node:node-1", "system:nodes"),
    ("222222-admin", "system:authenticated"),
    ("system:serviceaccount:222222-web:default", "system:serviceaccounts"),
    ("system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccounts:kube-system"),
)


@pytest.mark.parametrize("name", IMPERSONATED, ids=[name for name, _ in IMPERSONATED])
async def test_impersonated_user_is_one_of_the_tenant(server: TenantServer, name: tuple[str, str]) -> None:
    user, group = name
    headers = [(b"impersonate-user", user.encode()), (b"impersonate-group", group.encode())]
    headers += [(b"impersonate-uid", b"1"), (b"impersonate-extra-tenant", b"222222")]
    assert (await server.ask(ADMIN, "GET", "/api/v1/secrets", headers=headers)).code == 403
    assert (await server.ask(ADMIN, "GET", TENANTS, headers=headers)).code == 404
    everyone = {"kind": "Group", "name": "system:authenticated"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    bound = {"metadata": {"name": "all"}, "roleRef": reference, "subjects": [everyone]}
    assert (await server.ask(ADMIN, "POST", f"{RBAC}/clusterrolebindings", body=bound)).code == 201
    seen = await server.ask(ADMIN, "GET", "/api/v1/secrets", headers=headers)
    assert [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in seen.json["items"]] == [("web", "s")]
    shown = (await server.ask(ADMIN, "POST", WHO, body={}, headers=headers)).json["status"]["userInfo"]
    assert "system:masters" not in shown["groups"]


async def test_binding_to_everybody_gives_rights_to_users_of_the_tenant_only(server: TenantServer) -> None:
    groups = ("system:authenticated", "system:unauthenticated", "system:masters", "system:serviceaccounts")
    users = ("222222-admin", "admin", "nobody", "system:anonymous", "system:serviceaccount:222222-web:robot")
    subjects = [{"kind": "Group", "name": name} for name in groups] + [{"kind": "User", "name": name} for name in users]
    subjects += [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace} for namespace in FOREIGN]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    for name in ("cluster-admin", "222222-cluster-admin"):
        bound = {"metadata": {"name": f"all-{name}"}, "roleRef": {**reference, "name": name}, "subjects": subjects}
        assert (await server.ask(ADMIN, "POST", f"{RBAC}/clusterrolebindings", body=bound)).code == 201
    assert (await server.ask(NOBODY, "GET", SECRETS)).code == 200
    assert (await server.ask(user_of("222222", "nobody"), "GET", SECRETS)).code == 403
    for user in ("222222-admin", "system:anonymous", "admin", "system:serviceaccount:222222-web:robot"):
        assert (await server.ask_as(user, "GET", "/api/v1/namespaces/111111-web/secrets", groups=groups[:2])).code == 403, user


async def test_access_reviews_are_about_the_tenant(server: TenantServer) -> None:
    for namespace in FOREIGN:
        about = {"verb": "get", "resource": "secrets", "namespace": namespace}
        for user in ("222222-admin", "system:admin", "system:serviceaccount:a:default"):
            review = await server.ask(ADMIN, "POST", ACCESS, body={"spec": {"user": user, "resourceAttributes": about}})
            assert review.json["status"]["allowed"] is False
    assert (await server.ask(NOBODY, "POST", ACCESS, body={"spec": {"user": "admin"}})).code == 403


CERTIFICATES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("222222-admin", (), CLIENT),
    ("111111-admin", (), CLIENT),
    ("kubernetes-admin", ("admins",), CLIENT),
    ("system:node:node-1", ("system:nodes",), "kubernetes.io/kube-apiserver-client-kubelet"),
)


@pytest.mark.parametrize("wanted", CERTIFICATES, ids=[one[0] for one in CERTIFICATES])
async def test_request_for_a_certificate_stays_the_tenants(server: TenantServer, wanted: tuple[str, tuple[str, ...], str]) -> None:
    """The signer refuses requests with the label of a tenant, so the label must be there whatever the tenant writes."""
    name, groups, signer = wanted
    body = csr_object(csr_pem(subject(name, *groups)), signer=signer, username="kubernetes-admin", groups=["system:masters"])
    created = await server.ask(ADMIN, "POST", REQUESTS, body=body)
    assert created.code == 201, created.body
    approved = {**created.json, "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "me"}]}}
    assert (await server.ask(ADMIN, "PUT", f"{REQUESTS}/x/approval", body=approved)).code == 200
    for label in (None, "", "222222"):
        change = {"metadata": {"labels": {"kubezoo.io/tenant": label}}}
        await server.ask(ADMIN, "PATCH", f"{REQUESTS}/x", body=change, media="application/merge-patch+json")
    stored = (await server.request("GET", f"{REQUESTS}/111111-x")).json
    assert stored["metadata"]["labels"] == {"kubezoo.io/tenant": "111111"}
    assert (stored["spec"]["username"], stored["spec"]["groups"]) == ("111111-admin", ["system:authenticated"])


async def test_request_for_a_certificate_of_masters_is_refused(server: TenantServer) -> None:
    body = csr_object(csr_pem(subject("x", "system:masters")))
    assert (await server.ask(ADMIN, "POST", REQUESTS, body=body)).code == 403


@pytest.mark.parametrize("namespace", FOREIGN)
async def test_token_of_an_account_of_others(server: TenantServer, namespace: str) -> None:
    for account in ("default", "robot"):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        refused = await server.ask(ADMIN, "POST", path, body={"spec": {}})
        assert (refused.code, refused.json["message"]) == (404, f'serviceaccounts "{account}" not found')


async def test_account_named_like_a_controller_is_not_one(server: TenantServer) -> None:
    assert (await server.ask(ADMIN, "POST", "/api/v1/namespaces", body={"metadata": {"name": "kube-system"}})).code == 201
    token = await account_token(server, ADMIN, "kube-system")
    user = (await server.api.authenticate_token(token, ())).user
    assert (user.name, user.tenant) == ("system:serviceaccount:111111-kube-system:robot", "111111")


async def test_token_review_knows_own_tokens_only(server: TenantServer) -> None:
    own, victim = await account_token(server, ADMIN, "web"), await account_token(server, VICTIM, "web")
    platform = await account_token(server, None, "a")
    for token, is_known in ((own, True), (victim, False), (platform, False)):
        status = (await server.ask(ADMIN, "POST", REVIEWS, body={"spec": {"token": token}})).json["status"]
        assert status.get("authenticated", False) is is_known
        assert ("user" in status) is is_known
        assert "222222" not in str(status)


async def test_token_for_another_audience_does_not_authenticate(server: TenantServer) -> None:
    token = await account_token(server, ADMIN, "web", audiences=["elsewhere"])
    with pytest.raises(errors.Unauthorized):
        await server.api.authenticate_token(token, ())


@pytest.mark.parametrize("scope", ["tenant", "namespace"])
async def test_token_outlived_its_tenant_or_namespace(server: TenantServer, scope: str) -> None:
    """The new one has an account of the same name."""
    token = await account_token(server, ADMIN, "web")
    for path in ("111111-web/serviceaccounts/robot", "111111-web/secrets/s", "111111-web"):
        await server.request("DELETE", f"/api/v1/namespaces/{path}")
    await server.request("PUT", "/api/v1/namespaces/111111-web/finalize", {"metadata": {"name": "111111-web"}, "spec": {}})
    with pytest.raises(errors.Unauthorized):
        await server.api.authenticate_token(token, ())
    if scope == "tenant":
        for kind in ("clusterrolebindings/111111-cluster-admin-admin", "clusterroles/111111-cluster-admin"):
            assert (await server.request("DELETE", f"{RBAC}/{kind}")).code == 200
        await server.remove_tenant("111111")
        await server.create_tenant("111111")
    else:
        await server.create("namespaces", "", {"metadata": {"name": "111111-web"}})
    newer = await account_token(server, ADMIN, "web")
    assert (await server.api.authenticate_token(newer, ())).user.tenant == "111111"
    with pytest.raises(errors.Unauthorized):
        await server.api.authenticate_token(token, ())
