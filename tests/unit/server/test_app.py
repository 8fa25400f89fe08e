"""The ASGI application: limits on concurrent requests, timeouts, and responses to unexpected errors."""

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
from probate.server import app as server_app
from probate.server import routing
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.server.request_limits import MAX_IN_FLIGHT, RequestLimits
from probate.store.sqlite.store import open_memory
from support import bootstrap, sample_kinds, slow_stores


@pytest.fixture
async def app() -> AsyncIterator[server_app.App]:
    store: Any = slow_stores.HangingStore(await open_memory())
    store.is_slow = False
    kinds = KindRegistry(store, catalog.load())
    api = ServerContext(store, kinds, FakeClock(), new_uid=lambda: str(uuid.uuid4()), random=random.Random(1))  # noqa: S311
    await bootstrap.ensure_namespaces(api)
    yield server_app.App(api)
    await store.close()


def hang(app: server_app.App) -> None:
    """Lets all writes hang from now on."""
    store: Any = app._api.store
    store.is_slow = True


async def request(
    app: server_app.App, method: str, path: str, body: asyncio.Future[bytes] | None = None
) -> tuple[int, dict[bytes, bytes], Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"" if body is None else await body}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), orjson.loads(sent[1]["body"])


async def test_request_over_the_limit_gets_429_but_version_is_served(app: server_app.App) -> None:
    app = server_app.App(app._api, request_limits=RequestLimits(app._api.limit_log, max_in_flight=0))
    code, headers, status = await request(app, "GET", "/api/v1/namespaces/default")
    assert (code, headers[b"retry-after"], status["reason"]) == (429, b"1", "TooManyRequests")
    assert (await request(app, "GET", "/version"))[0] == 200


async def test_version_with_a_trailing_slash_as_kr8s_sends_it_was_not_found(app: server_app.App) -> None:
    assert (await request(app, "GET", "/version/"))[0] == 200


async def test_requests_that_wait_for_their_bodies_do_not_count_against_the_limit(app: server_app.App) -> None:
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    path = "/api/v1/namespaces/default/configmaps"
    slow = [asyncio.ensure_future(request(app, "POST", path, body)) for _ in range(MAX_IN_FLIGHT + 10)]
    await asyncio.sleep(0)
    assert (await request(app, "GET", "/api/v1/namespaces/default"))[0] == 200
    body.set_result(b'{"metadata":{"generateName":"x-"}}')
    assert {answer[0] for answer in await asyncio.gather(*slow)} <= {201, 429}


async def test_unexpected_error_is_a_status_and_a_log_line(
    app: server_app.App, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(routing.VERBS, "get", fail)
    code, _, status = await request(app, "GET", "/api/v1/namespaces/default")
    assert (code, status["kind"], status["reason"]) == (500, "Status", "InternalError")
    assert "request failed with an unexpected error" in caplog.text


async def post(app: server_app.App) -> tuple[int, dict[bytes, bytes], Any]:
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    body.set_result(b'{"metadata":{"name":"x"}}')
    return await request(app, "POST", "/api/v1/namespaces/default/configmaps", body)


async def test_write_that_does_not_finish_times_out_and_is_no_longer_in_flight(
    app: server_app.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_app, "REQUEST_TIMEOUT_SECONDS", 0.02)
    hang(app)
    slow = server_app.App(app._api)
    told = await asyncio.gather(*(post(slow) for _ in range(3)))
    assert [(code, status["reason"]) for code, _, status in told] == [(504, "Timeout")] * 3
    assert "read to see what was done" in told[0][2]["message"]
    assert len(slow._under_way) == 0


async def test_cancelled_write_gets_no_response(app: server_app.App) -> None:
    hang(app)
    pending = asyncio.ensure_future(post(app))
    await asyncio.sleep(0)
    pending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pending
    assert len(app._under_way) == 0


async def test_crd_is_served_although_its_create_request_times_out(app: server_app.App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "REQUEST_TIMEOUT_SECONDS", 0.1)
    may_continue, done = asyncio.Event(), asyncio.Event()

    async def note_change() -> None:
        await may_continue.wait()
        done.set()

    app._api.kinds.on_versions_changed = note_change
    body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    body.set_result(orjson.dumps(sample_kinds.definition("widget")))
    code, _, _ = await request(server_app.App(app._api), "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert code == 504
    may_continue.set()
    async with asyncio.timeout(10):
        await done.wait()
