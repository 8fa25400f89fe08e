"""What is said about every answer, and how a large one is sent."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator

import pytest

from probate.core import errors
from probate.core.clock import FakeClock
from probate.server.codec import compression
from support.in_process_server import InProcessServer, running

MAPS = "/api/v1/namespaces/default/configmaps"
FAR, HERE = ("192.0.2.7", 4711), ("127.0.0.1", 4711)
WANTS_GZIP = ((b"accept-encoding", b"deflate, gzip"),)


@pytest.fixture
async def house() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock()) as found:
        yield found


async def test_every_answer_has_an_id_of_its_own_and_is_not_kept(house: InProcessServer) -> None:
    told = [await house.request("GET", path) for path in (MAPS, f"{MAPS}/absent", "/version", "/healthz")]
    ids = [one.headers["audit-id"] for one in told]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in ids)
    assert {one.headers["cache-control"] for one in told} == {"no-cache, private"}
    assert told[-1].headers["x-content-type-options"] == "nosniff"


async def test_document_requested_by_its_hash_is_cacheable_and_an_outdated_hash_redirects(
    house: InProcessServer,
) -> None:
    index = (await house.request("GET", "/openapi/v3")).json
    path, _, wanted = index["paths"]["apis/apps/v1"]["serverRelativeURL"].partition("?hash=")
    kept = await house.request("GET", path, query={"hash": wanted})
    assert (kept.code, kept.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    moved = await house.request("GET", path, query={"hash": "OLD"})
    assert (moved.code, moved.headers["location"]) == (301, f"{path}?hash={wanted}")
    assert "immutable" not in moved.headers["cache-control"]


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_discovery_that_a_client_has_already_is_not_sent_again(house: InProcessServer, path: str) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    first = await house.request("GET", path, accept=accept)
    again = await house.request("GET", path, accept=accept, headers=((b"if-none-match", first.headers["etag"].encode()),))
    assert (first.code, again.code, again.body, again.headers["etag"]) == (200, 304, b"", first.headers["etag"])


async def test_large_response_is_compressed_for_remote_clients_that_accept_it(house: InProcessServer) -> None:
    for name in ("a", "b"):
        made = await house.request("POST", MAPS, {"metadata": {"name": name}, "data": {"x": "y" * compression.LEAST_BYTES}})
        assert made.code == 201
    plain = await house.request("GET", MAPS, client=FAR)
    small = await house.request("GET", MAPS, headers=WANTS_GZIP, client=FAR)
    assert (small.headers["content-encoding"], small.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) < len(plain.body) // 10
    for asked in ({"client": HERE, "headers": WANTS_GZIP}, {"client": FAR, "headers": ((b"accept-encoding", b"gzip;q=0.0"),)}):
        assert "content-encoding" not in (await house.request("GET", MAPS, **asked)).headers  # type: ignore[arg-type]
    assert "content-encoding" not in (await house.request("GET", "/version", headers=WANTS_GZIP, client=FAR)).headers


async def test_stored_resources_have_a_storage_version_hash(house: InProcessServer) -> None:
    told = {one["name"]: one.get("storageVersionHash") for one in (await house.request("GET", "/api/v1")).json["resources"]}
    assert (told["pods"], told["bindings"], told["pods/status"]) == ("xPOwRZ+Yhw8=", None, None)
    scalers = (await house.request("GET", "/apis/autoscaling/v1")).json["resources"]
    assert scalers[0]["storageVersionHash"] == "qwQve8ut294="


async def test_unresponsive_store_fails_readiness_but_not_liveness(house: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        raise errors.StoreUnavailable("the store sleeps")

    monkeypatch.setattr(house.api.store, "check", check)
    for path, code in (("/livez", 200), ("/livez/etcd", 500), ("/healthz/etcd", 500), ("/readyz", 500), ("/readyz/store", 500)):
        assert (await house.request("GET", path)).code == code, path
    told = (await house.request("GET", "/readyz")).body.decode()
    assert "[-]etcd failed: the store sleeps" in told
    assert (await house.request("GET", "/readyz", query={"exclude": ["etcd", "store", "garbage-collector-controller"]})).code == 200


async def test_version_says_what_it_is_compatible_with(house: InProcessServer) -> None:
    told = (await house.request("GET", "/version")).json
    assert (told["emulationMajor"], told["emulationMinor"]) == (told["major"], told["minor"])
    assert (told["minCompatibilityMajor"], told["minCompatibilityMinor"]) == ("1", "36")
