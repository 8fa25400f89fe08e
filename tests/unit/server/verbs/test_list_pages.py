"""Pages of a list: remainingItemCount, and continuing after the list's revision has been compacted."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.verbs import list as listing
from probate.store.contract import Revision
from support.in_process_server import FakeClock, InProcessServer, Response, running

PATH = "/api/v1/namespaces/default/configmaps"
TOO_OLD = "The provided continue parameter is too old to display a consistent list result."
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock(), collects=False) as server:
        for name in "abcdefg":
            await create_configmap(server, name)
        yield server


async def create_configmap(server: InProcessServer, name: str) -> Any:
    return await server.create("configmaps", "default", {"metadata": {"name": name, "labels": {"made": "here"}}})


async def delete_configmaps(server: InProcessServer, *names: str) -> None:
    for name in names:
        assert (await server.request("DELETE", f"{PATH}/{name}")).code == 200


async def page(server: InProcessServer, *, accept: str = "application/json", **query: Any) -> Any:
    response = await server.request("GET", PATH, query=query, accept=accept)
    assert response.code == 200, response.body
    return response.json


async def next_page(server: InProcessServer, before: Any, **query: Any) -> Any:
    return await page(server, **query, **{"continue": before["metadata"]["continue"]})


def names(found: Any) -> str:
    return "".join(item["metadata"]["name"] for item in found["items"])


def remaining(found: Any) -> int | None:
    left: int | None = found["metadata"].get("remainingItemCount")
    assert left is None or found["metadata"]["continue"]
    return left


async def compact(server: InProcessServer) -> None:
    """Compacts the store up to the current revision."""
    await create_configmap(server, "z")
    await server.store.compact(await server.store.revision())


async def expired(server: InProcessServer, before: Any, **query: Any) -> Response:
    """Returns the response to a request that continues a compacted list."""
    await compact(server)
    return await server.request("GET", PATH, query={**query, "continue": before["metadata"]["continue"]})


# --- how much follows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["application/json", TABLE, METADATA])
async def test_remaining_count_was_missing_from_all_pages_but_the_first(server: InProcessServer, accept: str) -> None:
    found = [await page(server, limit=2, accept=accept)]
    while found[-1]["metadata"].get("continue"):
        found.append(await next_page(server, found[-1], limit=2, accept=accept))
    assert [remaining(one) for one in found] == [5, 3, 1, None]


async def test_remaining_count_is_that_of_the_first_pages_revision(server: InProcessServer) -> None:
    first = await page(server, limit=2)
    await delete_configmaps(server, "d", "e", "f")
    await create_configmap(server, "h")
    second = await next_page(server, first, limit=2)
    assert (names(second), remaining(second)) == ("cd", 3)
    third = await next_page(server, second, limit=1)
    assert (names(third), remaining(third)) == ("e", 2)
    assert names(await next_page(server, third)) == "fg"


async def test_remaining_count_was_missing_from_lists_of_an_exact_revision(server: InProcessServer) -> None:
    then = str(await server.store.revision())
    asked: dict[str, Any] = {"resourceVersion": then, "resourceVersionMatch": "Exact", "limit": 1}
    assert remaining(await page(server, **asked)) == 6
    await delete_configmaps(server, "c", "d")
    await create_configmap(server, "h")
    await create_configmap(server, "i")
    await create_configmap(server, "j")
    first = await page(server, **asked)
    assert (names(first), remaining(first)) == ("a", 6)
    assert remaining(await next_page(server, first, limit=2)) == 4


async def test_remaining_items_of_an_old_revision_are_not_counted(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    then = str(await server.store.revision())
    await create_configmap(server, "h")
    monkeypatch.setattr(listing, "MAX_COUNTED_REVISIONS", 0)
    first = await page(server, resourceVersion=then, resourceVersionMatch="Exact", limit=1)
    second = await next_page(server, first, limit=1)
    assert [(names(one), remaining(one)) for one in (first, second)] == [("a", None), ("b", None)]


@pytest.mark.parametrize("selector", [{"labelSelector": "made=here"}, {"fieldSelector": "metadata.name!=g"}])
async def test_lists_with_a_selector_have_no_remaining_count(server: InProcessServer, selector: dict[str, str]) -> None:
    first = await page(server, limit=2, **selector)
    second = await next_page(server, first, limit=2, **selector)
    assert [(names(one), remaining(one)) for one in (first, second)] == [("ab", None), ("cd", None)]
    everything = await page(server, limit=2)
    assert remaining(everything) == 5
    assert remaining(await next_page(server, everything, limit=2, **selector)) is None


async def test_token_without_a_count_gives_no_remaining_count(server: InProcessServer) -> None:
    """Tokens of earlier releases have no number."""
    body = b'{"rv":%d,"start":"b"}' % await server.store.revision()
    found = await page(server, limit=2, **{"continue": base64.urlsafe_b64encode(body).decode()})
    assert (names(found), remaining(found)) == ("cd", None)
    assert remaining(await next_page(server, found, limit=2)) is None


@pytest.mark.parametrize("number", ["-1", "9223372036854775808", '"5"', "1.5"])
async def test_token_with_an_invalid_count_is_rejected(server: InProcessServer, number: str) -> None:
    body = b'{"rv":%d,"start":"b","following":%b}' % (await server.store.revision(), number.encode())
    response = await server.request("GET", PATH, query={"limit": 2, "continue": base64.urlsafe_b64encode(body).decode()})
    assert response.code == 400


async def test_token_with_too_small_a_count_never_gives_less_than_one(server: InProcessServer) -> None:
    body = b'{"rv":%d,"start":"b","following":1}' % await server.store.revision()
    found = await page(server, limit=2, **{"continue": base64.urlsafe_b64encode(body).decode()})
    assert (names(found), remaining(found)) == ("cd", None)


# --- when the moment is forgotten -----------------------------------------------------------------------------------------


async def test_expired_token_came_without_a_token_to_continue(server: InProcessServer) -> None:
    first = await page(server, limit=2)
    await delete_configmaps(server, "a", "c")
    told = await expired(server, first, limit=2)
    assert (told.code, told.json["kind"], told.json["reason"], told.json["code"]) == (410, "Status", "Expired", 410)
    assert told.json["message"].startswith(TOO_OLD)
    now = await server.store.revision()
    second = await next_page(server, told.json, limit=2)
    assert (names(second), remaining(second)) == ("de", 3)
    assert second["metadata"]["resourceVersion"] == str(now)


async def test_list_continued_after_expiry_is_of_one_revision_again(server: InProcessServer) -> None:
    told = await expired(server, await page(server, limit=2), limit=2)
    second = await next_page(server, told.json, limit=2)
    await delete_configmaps(server, "f", "g")
    rest = await next_page(server, second)
    assert (names(second), names(rest)) == ("cd", "efgz")
    assert rest["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_token_of_an_expired_list_does_not_expire(server: InProcessServer) -> None:
    told = await expired(server, await page(server, limit=2))
    await delete_configmaps(server, "z")
    await compact(server)
    assert names(await next_page(server, told.json)) == "cdefgz"


async def test_expired_list_with_a_selector_continues_with_matching_objects(server: InProcessServer) -> None:
    selector: dict[str, Any] = {"fieldSelector": "metadata.name!=d", "limit": 2}
    told = await expired(server, await page(server, **selector), **selector)
    second = await next_page(server, told.json, **selector)
    assert (names(second), remaining(second)) == ("ce", None)


async def test_deletecollection_of_an_expired_list_deletes_nothing_and_can_continue(server: InProcessServer) -> None:
    first = await page(server, limit=2)
    await compact(server)
    response = await server.request("DELETE", PATH, query={"continue": first["metadata"]["continue"]})
    assert response.code == 410
    assert names(await page(server)) == "abcdefgz"
    assert (await server.request("DELETE", PATH, query={"continue": response.json["metadata"]["continue"]})).code == 200
    assert names(await page(server)) == "ab"


async def test_list_of_a_compacted_revision_has_no_token_to_continue(server: InProcessServer) -> None:
    then = await server.store.revision()
    await compact(server)
    response = await server.request("GET", PATH, query={"resourceVersion": str(then), "resourceVersionMatch": "Exact", "limit": 1})
    assert (response.code, response.json["reason"], response.json["metadata"]) == (410, "Expired", {})
    assert TOO_OLD not in response.json["message"]


async def test_page_compacted_before_it_is_counted_has_no_remaining_count(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = server.store.count

    async def too_late(prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        await compact(server)
        return await count(prefix, after=after, at=at)

    monkeypatch.setattr(server.store, "count", too_late)
    found = await page(server, limit=2)
    assert (names(found), remaining(found)) == ("ab", None)
