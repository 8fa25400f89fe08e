"""No request blocks the event loop for others, whatever its body, schema or query contains.

The tests measure how long the loop was blocked in processor time of its own thread, so that a busy machine does not matter.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import orjson
import pytest

from probate.core.aio import large_work
from probate.core.aio.offload import WorkerPool
from probate.core.clock import SystemClock
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.sqlite.store import open_memory
from support import bootstrap

MOST_SECONDS = 0.25
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


@pytest.fixture
def quick_turns() -> Iterator[None]:
    """Sets thread switching and garbage collection as in the real process, not as in one that has run thousands of tests."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(0.0001)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


@pytest.fixture
async def app(quick_turns: None) -> AsyncIterator[App]:
    store, pool = await open_memory(), WorkerPool("large")
    kinds = KindRegistry(store, catalog.load(), pool)
    made = ServerContext(store, kinds, SystemClock(), new_uid=lambda: str(uuid.uuid4()), random=random.Random(1), offload=pool)  # noqa: S311
    await bootstrap.ensure_namespaces(made)
    yield App(made)
    pool.close()
    await store.close()


async def send_request(app: App, method: str, path: str, body: bytes = b"", query: str = "", **headers: str) -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": named}
    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


class Heartbeat:
    """Runs a heartbeat on the event loop. `longest` is the most processor time that its thread took between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.longest, before = max(self.longest, now - before), now


async def longest_block(app: App, *arguments: Any, **more: Any) -> tuple[float, int, bytes]:
    heart = Heartbeat()
    beating = asyncio.ensure_future(heart.beat())
    await asyncio.sleep(0.005)
    code, body = await send_request(app, *arguments, **more)
    await asyncio.sleep(0.005)
    beating.cancel()
    return heart.longest, code, body


def labels(key: str, value: str) -> dict[str, str]:
    return {f"{key}{number}": value for number in range(100_000)}  # who owns each is stored beside


def of_config_map(**meta: Any) -> bytes:
    return orjson.dumps({"metadata": {"name": "a", **meta}})


def of_pod(**spec: Any) -> bytes:
    return orjson.dumps({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}})


def spread(number: int) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": f"k{number}", "whenUnsatisfiable": "DoNotSchedule"}


BODIES: dict[str, tuple[str, Callable[[], bytes], int]] = {
    "labels": (CONFIG_MAPS, lambda: of_config_map(labels=labels("k", "v")), 201),
    "bad labels": (CONFIG_MAPS, lambda: of_config_map(labels=labels("!", "!")), 422),
    "bad finalizers": (CONFIG_MAPS, lambda: of_config_map(finalizers=list(labels("!", ""))), 422),
    "empty owners": (CONFIG_MAPS, lambda: of_config_map(ownerReferences=[{}] * 150_000), 422),
    "too many lists": (CONFIG_MAPS, lambda: of_config_map(x=[[]] * 900_000), 400),
    "fields given twice": (
        CONFIG_MAPS,
        lambda: b'{"metadata":{"name":"a"},"x":[%s]}' % b",".join([b'{"k" :1,"k" :2}'] * 90_000),
        201,
    ),
    "containers": (PODS, lambda: of_pod(containers=[{"name": f"c{at}", "image": "i"} for at in range(1_000)]), 201),
    "empty containers": (PODS, lambda: of_pod(containers=[{}] * 40_000), 422),
    "spread constraints": (PODS, lambda: of_pod(topologySpreadConstraints=[spread(at) for at in range(10_000)]), 201),
}


@pytest.mark.parametrize("name", BODIES)
async def test_large_body_does_not_block_the_event_loop(app: App, name: str) -> None:
    path, body, code = BODIES[name]
    longest, answered, told = await longest_block(app, "POST", path, body(), content_type="application/json")
    assert answered == code, told[:500]
    assert longest < MOST_SECONDS
    assert len(told) < 3_200_000, "an answer many times the size of the body is an attack on whoever waits for it"


async def test_yaml_does_not_block_the_event_loop(app: App) -> None:
    body = b"metadata: {name: y}\ndata:\n" + b"".join(b"  k%d: v\n" % number for number in range(50_000))
    longest, code, _ = await longest_block(app, "POST", CONFIG_MAPS, body, content_type="application/yaml")
    assert (code, longest < MOST_SECONDS) == (201, True)
    longest, code, _ = await longest_block(app, "GET", f"{CONFIG_MAPS}/y", accept="application/yaml")
    assert (code, longest < MOST_SECONDS) == (200, True)


async def test_small_patch_of_a_large_object_does_not_block_the_event_loop(app: App) -> None:
    assert (await send_request(app, "POST", CONFIG_MAPS, of_config_map(labels=labels("k", "v")), content_type="application/json"))[
        0
    ] == 201
    patch = {"content_type": "application/merge-patch+json"}
    longest, code, _ = await longest_block(app, "PATCH", f"{CONFIG_MAPS}/a", b'{"data":{"a":"1"}}', **patch)
    assert (code, longest < MOST_SECONDS) == (200, True)


async def test_apply_does_not_block_the_event_loop(app: App) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap"}
    apply = {"content_type": "application/apply-patch+yaml", "query": "fieldManager=a"}
    large = orjson.dumps({**document, "data": {f"k{number}": "v" for number in range(20_000)}})
    for body, code in ((large, 201), (large, 200), (orjson.dumps({**document, "data": {"k1": "v"}}), 200)):
        longest, answered, told = await longest_block(app, "PATCH", f"{CONFIG_MAPS}/applied", body, **apply)
        assert (answered, longest < MOST_SECONDS) == (code, True), told[:500]


def definition(spec: dict[str, Any]) -> bytes:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    about = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return orjson.dumps({"metadata": {"name": "things.example.com"}, "spec": about})


def thing(spec: Any) -> bytes:
    return orjson.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})


def coin(times: int) -> str:
    flips = random.Random(2)  # noqa: S311
    return "".join(flips.choice("ab") for _ in range(times))


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"a": {"type": "array", "items": items}}


def text_like(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


SCHEMAS: dict[str, tuple[dict[str, Any], Any, int]] = {
    "many states": ({"a": text_like("(a|b)*a(a|b){900}c")}, {"a": coin(40_000)}, 413),
    "backtracking": ({"a": text_like("^(a+)+$")}, {"a": "a" * 50_000 + "!"}, 422),
    "many patterns": (
        {f"f{at}": text_like("[a-z]{1,900}" * 5) for at in range(100)},
        {f"f{at}": "B" for at in range(100)},
        422,
    ),
    "enum": (list_of({"type": "string", "enum": [f"e{at}" for at in range(5_000)]}), {"a": ["z"] * 50_000}, 422),
    "alternatives": (
        list_of({"type": "object", "anyOf": [{"required": [f"r{at}"]} for at in range(300)]}),
        {"a": [{}] * 2_000},
        422,
    ),
    "defaults": (
        list_of({"type": "object", "properties": {"b": {**list_of({"type": "string"})["a"], "default": ["x" * 90] * 5_000}}}),
        {"a": [{}] * 3_000},
        413,
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
async def test_small_object_with_an_expanding_schema_does_not_block_the_event_loop(
    app: App, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_work, "MAX_STEPS", 500_000)  # a few seconds less than it is
    schema, value, code = SCHEMAS[name]
    longest, created, told = await longest_block(app, "POST", DEFINITIONS, definition(schema), content_type="application/json")
    assert (created, longest < MOST_SECONDS) == (201, True), told[:500]
    longest, answered, told = await longest_block(app, "POST", THINGS, thing(value), content_type="application/json")
    assert answered == code, told[:500]
    assert longest < MOST_SECONDS
    assert len(told) < 1_000_000


async def test_wide_crd_does_not_block_the_event_loop(app: App) -> None:
    fields = {f"field{number}": {"type": "string"} for number in range(8_000)}
    for arguments in (
        ("POST", DEFINITIONS, definition(fields)),
        ("POST", THINGS, thing({"field1": "x"})),
        ("GET", "/openapi/v2"),
        ("GET", "/openapi/v3"),
    ):
        longest, code, told = await longest_block(app, *arguments, content_type="application/json")
        assert (code in {200, 201}, longest < MOST_SECONDS) == (True, True), (arguments[:2], longest, told[:500])


async def test_cel_rules_do_not_block_the_event_loop(app: App) -> None:
    """Twenty rules over a thousand items each: stopped by their cost limit, and never long on the event loop."""
    rules = [{"rule": "self.all(x, self.all(y, x + y >= 0))"}, *[{"rule": "self.all(x, x >= 0)"}] * 19]
    spec = {"a": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}, "x-kubernetes-validations": rules}}
    assert (await send_request(app, "POST", DEFINITIONS, definition(spec), content_type="application/json"))[0] == 201
    longest, code, told = await longest_block(app, "POST", THINGS, thing({"a": list(range(1000))}), content_type="application/json")
    assert (code, b"call cost exceeds limit" in told) == (422, True), told[:300]
    assert longest < MOST_SECONDS
