"""Who is given a token of a service account can verify it without asking for a review: the issuer tells its key."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from probate.server.authn import jwt
from probate.server.authn.service_accounts import Accounts
from support.rbac_server import Guarded, guarded

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
ACCOUNT = "system:serviceaccount:a:robot"


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        await one.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield one


async def test_configuration_leads_to_the_keys(house: Guarded) -> None:
    house.api.accounts = Accounts(
        house.store, house.api.clock, issuer="https://issuer.example.com", keys_at="https://x/openid/v1/jwks"
    )
    told = await house.ask("GET", CONFIGURATION)
    assert (told.code, told.headers["content-type"]) == (200, "application/json")
    assert told.headers["cache-control"] == "public, max-age=3600"
    assert told.json == {
        "issuer": "https://issuer.example.com",
        "jwks_uri": "https://x/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


async def test_keys_are_those_that_tokens_are_signed_with(house: Guarded) -> None:
    made = await house.ask("POST", "/api/v1/namespaces/a/serviceaccounts/robot/token", {"spec": {}})
    parsed = jwt.parse(made.json["status"]["token"])
    told = await house.ask("GET", KEYS)
    assert (told.code, told.headers["content-type"]) == (200, "application/jwk-set+json")
    (described,) = told.json["keys"]
    assert described.keys() == {"use", "kty", "kid", "crv", "alg", "x", "y"}
    assert parsed is not None
    assert parsed.key_id == described["kid"]
    assert jwt.is_signed_by(parsed, jwt.public_key(described))
    assert not jwt.is_signed_by(parsed._replace(signed=parsed.signed + b"x"), jwt.public_key(described))


@pytest.mark.parametrize("path", [CONFIGURATION, CONFIGURATION + "/", KEYS, KEYS + "/"])
async def test_service_accounts_may_read_it_and_others_may_not(house: Guarded, path: str) -> None:
    assert (await house.ask_as(ACCOUNT, "GET", path, groups=("system:serviceaccounts",))).code == 200
    assert (await house.ask_as("somebody", "GET", path, groups=("system:authenticated",))).code == 403
    await house.grant("somebody", {"verbs": ["get"], "nonResourceURLs": [path]})
    assert (await house.ask_as("somebody", "GET", path)).code == 200


async def test_only_reading_is_possible(house: Guarded) -> None:
    assert (await house.ask("POST", KEYS, {})).code == 405
    assert (await house.ask("GET", f"{KEYS}/x")).code == 404


@pytest.mark.parametrize(
    "issuer", ["kubernetes/serviceaccount", "http://issuer.example.com", "https://i.example.com?a=b", "https://[x"]
)
async def test_issuer_that_cannot_be_looked_for_tells_nothing(house: Guarded, issuer: str) -> None:
    house.api.accounts = Accounts(house.store, house.api.clock, issuer=issuer)
    assert [(await house.ask("GET", path)).code for path in (CONFIGURATION, KEYS)] == [404, 404]


async def test_both_are_among_the_paths_that_are_served(house: Guarded) -> None:
    assert {CONFIGURATION, KEYS} <= set((await house.ask("GET", "/")).json["paths"])
