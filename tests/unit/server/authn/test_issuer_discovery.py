"""OpenID Connect discovery: others can verify service account tokens without a TokenReview."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.core.clock import FakeClock
from probate.server.authn import jwt
from probate.server.authn.service_accounts import TokenIssuer
from probate.store.sqlite.store import open_memory
from support.rbac_server import RbacServer, running_with_rbac

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
ACCOUNT = "system:serviceaccount:a:robot"


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        await item.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield item


async def test_configuration_names_the_key_set() -> None:
    store = await open_memory()
    accounts = TokenIssuer(store, FakeClock(), issuer="https://issuer.example.com", jwks_uri="https://x/openid/v1/jwks")
    async with running_with_rbac(store=store, service_accounts=accounts) as server:
        response = await server.request("GET", CONFIGURATION)
    assert (response.code, response.headers["content-type"]) == (200, "application/json")
    assert response.headers["cache-control"] == "public, max-age=3600"
    assert response.json == {
        "issuer": "https://issuer.example.com",
        "jwks_uri": "https://x/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


async def test_key_set_verifies_issued_tokens(server: RbacServer) -> None:
    created = await server.request("POST", "/api/v1/namespaces/a/serviceaccounts/robot/token", {"spec": {}})
    parsed = jwt.parse(created.json["status"]["token"])
    response = await server.request("GET", KEYS)
    assert (response.code, response.headers["content-type"]) == (200, "application/jwk-set+json")
    (described,) = response.json["keys"]
    assert described.keys() == {"use", "kty", "kid", "crv", "alg", "x", "y"}
    assert parsed is not None
    assert parsed.key_id == described["kid"]
    assert jwt.is_signed_by(parsed, jwt.from_jwk(described))
    assert not jwt.is_signed_by(parsed._replace(signed=parsed.signed + b"x"), jwt.from_jwk(described))


@pytest.mark.parametrize("path", [CONFIGURATION, CONFIGURATION + "/", KEYS, KEYS + "/"])
async def test_only_service_accounts_may_read_discovery(server: RbacServer, path: str) -> None:
    assert (await server.ask_as(ACCOUNT, "GET", path, groups=("system:serviceaccounts",))).code == 200
    assert (await server.ask_as("somebody", "GET", path, groups=("system:authenticated",))).code == 403
    await server.grant("somebody", {"verbs": ["get"], "nonResourceURLs": [path]})
    assert (await server.ask_as("somebody", "GET", path)).code == 200


async def test_only_get_is_allowed(server: RbacServer) -> None:
    assert (await server.request("POST", KEYS, {})).code == 405
    assert (await server.request("GET", f"{KEYS}/x")).code == 404


@pytest.mark.parametrize(
    "issuer", ["kubernetes/serviceaccount", "http://issuer.example.com", "https://i.example.com?a=b", "https://[x"]
)
async def test_non_https_issuer_has_no_discovery(issuer: str) -> None:
    store = await open_memory()
    async with running_with_rbac(store=store, service_accounts=TokenIssuer(store, FakeClock(), issuer=issuer)) as server:
        assert [(await server.request("GET", path)).code for path in (CONFIGURATION, KEYS)] == [404, 404]


async def test_both_paths_are_listed(server: RbacServer) -> None:
    assert {CONFIGURATION, KEYS} <= set((await server.request("GET", "/")).json["paths"])
