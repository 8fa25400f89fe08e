"""The door itself: how many requests are let in at once, and what leaves when something breaks."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.server import app as door
from probate.server.bootstrap import namespaces
from probate.server.context import Api
from probate.server.kind_registry import Kinds
from probate.server.request_limits import MAX_UNDER_WAY, RequestLimits
from probate.store.sqlite.store import open_memory
from support import sample_kinds, slow_stores


@pytest.fixture
async def app() -> AsyncIterator[door.App]:
    store = await open_memory()
    api = Api(store, Kinds(store, catalog.load()), FakeClock(), new_uid=lambda: str(uuid.uuid4()), random=random.Random(1))  # noqa: S311
    await namespaces.ensure_namespaces(api)
    yield door.App(api)
    await store.close()


async def ask(
    app: door.App, method: str, path: str, body: asyncio.Future[bytes] | None = None
) -> tuple[int, dict[bytes, bytes], Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"" if body is None else await body}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), orjson.loads(sent[1]["body"])


async def test_one_request_too_many_is_asked_to_come_back_but_health_is_told(app: door.App) -> None:
    app = door.App(app._api, limits=RequestLimits(app._api.limits, max_under_way=0))
    code, headers, status = await ask(app, "GET", "/api/v1/namespaces/default")
    assert (code, headers[b"retry-after"], status["reason"]) == (429, b"1", "TooManyRequests")
    assert (await ask(app, "GET", "/version"))[0] == 200


async def test_kr8s_asked_for_the_version_with_a_slash_at_the_end_and_was_told_that_there_is_none(app: door.App) -> None:
    assert (await ask(app, "GET", "/version/"))[0] == 200


async def test_requests_that_wait_for_their_own_bodies_keep_nobody_out(app: door.App) -> None:
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    path = "/api/v1/namespaces/default/configmaps"
    slow = [asyncio.ensure_future(ask(app, "POST", path, body)) for _ in range(MAX_UNDER_WAY + 10)]
    await asyncio.sleep(0)
    assert (await ask(app, "GET", "/api/v1/namespaces/default"))[0] == 200
    body.set_result(b'{"metadata":{"generateName":"x-"}}')
    assert {answer[0] for answer in await asyncio.gather(*slow)} <= {201, 429}


async def test_unforeseen_failure_is_a_status_and_a_line_in_the_log(app: door.App, caplog: pytest.LogCaptureFixture) -> None:
    app._api.kinds = None  # type: ignore[assignment]
    code, _, status = await ask(app, "GET", "/api/v1/namespaces/default")
    assert (code, status["kind"], status["reason"]) == (500, "Status", "InternalError")
    assert "nobody foresaw" in caplog.text


async def post(app: door.App) -> tuple[int, dict[bytes, bytes], Any]:
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    body.set_result(b'{"metadata":{"name":"x"}}')
    return await ask(app, "POST", "/api/v1/namespaces/default/configmaps", body)


async def test_write_that_does_not_end_is_told_so_in_time_and_is_under_way_no_more(
    app: door.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.02)
    app._api.store = slow_stores.Stuck(app._api.store)
    slow = door.App(app._api)
    told = await asyncio.gather(*(post(slow) for _ in range(3)))
    assert [(code, status["reason"]) for code, _, status in told] == [(504, "Timeout")] * 3
    assert "read to see what was done" in told[0][2]["message"]
    assert len(slow._under_way) == 0


async def test_write_that_is_cut_off_is_not_answered(app: door.App) -> None:
    app._api.store = slow_stores.Stuck(app._api.store)
    asking = asyncio.ensure_future(post(app))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(app._under_way) == 0


async def test_definition_is_served_to_its_end_though_its_author_is_answered_before(
    app: door.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.1)
    goes_on, done = asyncio.Event(), asyncio.Event()

    async def note_change() -> None:
        await goes_on.wait()
        done.set()

    app._api.kinds.on_change = note_change
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    body.set_result(orjson.dumps(sample_kinds.definition("widget")))
    code, _, _ = await ask(door.App(app._api), "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert code == 504
    goes_on.set()
    async with asyncio.timeout(10):
        await done.wait()
