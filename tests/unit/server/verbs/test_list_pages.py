"""The pages of a list: how much follows each, and how to go on when the moment they show has been forgotten."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.verbs import list as listing
from probate.store.contract import Revision
from support.in_process_server import FakeClock, House, Told, running

PATH = "/api/v1/namespaces/default/configmaps"
TOO_OLD = "The provided continue parameter is too old to display a consistent list result."
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(clock=FakeClock(), collects=False) as house:
        for name in "abcdefg":
            await make(house, name)
        yield house


async def make(house: House, name: str) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "labels": {"made": "here"}}})


async def drop(house: House, *names: str) -> None:
    for name in names:
        assert (await house.ask("DELETE", f"{PATH}/{name}")).code == 200


async def page(house: House, *, accept: str = "application/json", **query: Any) -> Any:
    told = await house.ask("GET", PATH, query=query, accept=accept)
    assert told.code == 200, told.body
    return told.json


async def go_on(house: House, before: Any, **query: Any) -> Any:
    return await page(house, **query, **{"continue": before["metadata"]["continue"]})


def names(found: Any) -> str:
    return "".join(item["metadata"]["name"] for item in found["items"])


def remaining(found: Any) -> int | None:
    left: int | None = found["metadata"].get("remainingItemCount")
    assert left is None or found["metadata"]["continue"]
    return left


async def forget(house: House) -> None:
    """Only what is there now is known from now on."""
    await make(house, "z")
    await house.store.compact(await house.store.revision())


async def expired(house: House, before: Any, **query: Any) -> Told:
    """The answer to who goes on with a list that is forgotten."""
    await forget(house)
    return await house.ask("GET", PATH, query={**query, "continue": before["metadata"]["continue"]})


# --- how much follows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["application/json", TABLE, METADATA])
async def test_remaining_count_was_missing_from_all_pages_but_the_first(house: House, accept: str) -> None:
    found = [await page(house, limit=2, accept=accept)]
    while found[-1]["metadata"].get("continue"):
        found.append(await go_on(house, found[-1], limit=2, accept=accept))
    assert [remaining(one) for one in found] == [5, 3, 1, None]


async def test_remaining_count_is_that_of_the_first_pages_moment(house: House) -> None:
    first = await page(house, limit=2)
    await drop(house, "d", "e", "f")
    await make(house, "h")
    second = await go_on(house, first, limit=2)
    assert (names(second), remaining(second)) == ("cd", 3)
    third = await go_on(house, second, limit=1)
    assert (names(third), remaining(third)) == ("e", 2)
    assert names(await go_on(house, third)) == "fg"


async def test_remaining_count_was_missing_from_lists_of_an_exact_revision(house: House) -> None:
    then = str(await house.store.revision())
    asked: dict[str, Any] = {"resourceVersion": then, "resourceVersionMatch": "Exact", "limit": 1}
    assert remaining(await page(house, **asked)) == 6
    await drop(house, "c", "d")
    await make(house, "h")
    await make(house, "i")
    await make(house, "j")
    first = await page(house, **asked)
    assert (names(first), remaining(first)) == ("a", 6)
    assert remaining(await go_on(house, first, limit=2)) == 4


async def test_what_follows_a_list_of_long_ago_is_not_counted(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    then = str(await house.store.revision())
    await make(house, "h")
    monkeypatch.setattr(listing, "NEAR", 0)
    first = await page(house, resourceVersion=then, resourceVersionMatch="Exact", limit=1)
    second = await go_on(house, first, limit=1)
    assert [(names(one), remaining(one)) for one in (first, second)] == [("a", None), ("b", None)]


@pytest.mark.parametrize("selector", [{"labelSelector": "made=here"}, {"fieldSelector": "metadata.name!=g"}])
async def test_lists_with_a_selector_do_not_say_what_remains(house: House, selector: dict[str, str]) -> None:
    first = await page(house, limit=2, **selector)
    second = await go_on(house, first, limit=2, **selector)
    assert [(names(one), remaining(one)) for one in (first, second)] == [("ab", None), ("cd", None)]
    everything = await page(house, limit=2)
    assert remaining(everything) == 5
    assert remaining(await go_on(house, everything, limit=2, **selector)) is None


async def test_token_without_a_number_gives_none(house: House) -> None:
    """As those of earlier releases are."""
    body = b'{"rv":%d,"start":"b"}' % await house.store.revision()
    found = await page(house, limit=2, **{"continue": base64.urlsafe_b64encode(body).decode()})
    assert (names(found), remaining(found)) == ("cd", None)
    assert remaining(await go_on(house, found, limit=2)) is None


@pytest.mark.parametrize("number", ["-1", "9223372036854775808", '"5"', "1.5"])
async def test_token_with_a_number_that_cannot_be_is_refused(house: House, number: str) -> None:
    body = b'{"rv":%d,"start":"b","following":%b}' % (await house.store.revision(), number.encode())
    told = await house.ask("GET", PATH, query={"limit": 2, "continue": base64.urlsafe_b64encode(body).decode()})
    assert told.code == 400


async def test_token_with_a_number_that_is_too_small_never_gives_less_than_one(house: House) -> None:
    body = b'{"rv":%d,"start":"b","following":1}' % await house.store.revision()
    found = await page(house, limit=2, **{"continue": base64.urlsafe_b64encode(body).decode()})
    assert (names(found), remaining(found)) == ("cd", None)


# --- when the moment is forgotten -----------------------------------------------------------------------------------------


async def test_expired_token_came_without_another_to_go_on_with(house: House) -> None:
    first = await page(house, limit=2)
    await drop(house, "a", "c")
    told = await expired(house, first, limit=2)
    assert (told.code, told.json["kind"], told.json["reason"], told.json["code"]) == (410, "Status", "Expired", 410)
    assert told.json["message"].startswith(TOO_OLD)
    now = await house.store.revision()
    second = await go_on(house, told.json, limit=2)
    assert (names(second), remaining(second)) == ("de", 3)
    assert second["metadata"]["resourceVersion"] == str(now)


async def test_list_that_goes_on_after_it_expired_is_of_one_moment_again(house: House) -> None:
    told = await expired(house, await page(house, limit=2), limit=2)
    second = await go_on(house, told.json, limit=2)
    await drop(house, "f", "g")
    rest = await go_on(house, second)
    assert (names(second), names(rest)) == ("cd", "efgz")
    assert rest["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_token_of_an_expired_list_does_not_expire(house: House) -> None:
    told = await expired(house, await page(house, limit=2))
    await drop(house, "z")
    await forget(house)
    assert names(await go_on(house, told.json)) == "cdefgz"


async def test_expired_list_with_a_selector_goes_on_with_what_matches(house: House) -> None:
    selector: dict[str, Any] = {"fieldSelector": "metadata.name!=d", "limit": 2}
    told = await expired(house, await page(house, **selector), **selector)
    second = await go_on(house, told.json, **selector)
    assert (names(second), remaining(second)) == ("ce", None)


async def test_deletecollection_of_an_expired_list_deletes_nothing_and_can_go_on(house: House) -> None:
    first = await page(house, limit=2)
    await forget(house)
    told = await house.ask("DELETE", PATH, query={"continue": first["metadata"]["continue"]})
    assert told.code == 410
    assert names(await page(house)) == "abcdefgz"
    assert (await house.ask("DELETE", PATH, query={"continue": told.json["metadata"]["continue"]})).code == 200
    assert names(await page(house)) == "ab"


async def test_list_of_a_forgotten_revision_has_nothing_to_go_on_with(house: House) -> None:
    then = await house.store.revision()
    await forget(house)
    told = await house.ask("GET", PATH, query={"resourceVersion": str(then), "resourceVersionMatch": "Exact", "limit": 1})
    assert (told.code, told.json["reason"], told.json["metadata"]) == (410, "Expired", {})
    assert TOO_OLD not in told.json["message"]


async def test_page_that_is_forgotten_before_it_is_counted_is_shown_without(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    count = house.store.count

    async def too_late(prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        await forget(house)
        return await count(prefix, after=after, at=at)

    monkeypatch.setattr(house.store, "count", too_late)
    found = await page(house, limit=2)
    assert (names(found), remaining(found)) == ("ab", None)
