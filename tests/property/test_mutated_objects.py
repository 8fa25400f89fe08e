"""Good objects with something wrong in them, written in every way there is: each is done or refused, and none is a failure.

Random documents (`fuzz`) seldom get past the first check. These nearly fit, so they reach the last one.
"""

from __future__ import annotations

import asyncio
import copy
import random
import time
import uuid
from typing import Any

import hypothesis
import orjson
import yaml
from hypothesis import HealthCheck
from hypothesis import strategies as st

from probate.api.catalog import Resource
from probate.core.clock import FakeClock
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode
from probate.server.app import App
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.json_value_paths import at, places
from support.valid_objects import SAMPLES

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 1.5, 1e308),
    *("", "a", "A b", "é", "\0", "x" * 300, "-1", "100m", "1e99999", "*", "..", "/", "a/b", "$(A)", "::1", "10.0.0.0/33"),
    *("2020-01-01T00:00:00Z", "9999-99-99T00:00:00Z", "Always", "Orphan", "default"),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": {}}, ["a", "a"], [1, "a"]),
)
NAMES = ("a", "b")
PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json")
OPTIONS = ("", "dryRun=All", "fieldValidation=Strict", "fieldValidation=Ignore")
FORMS = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
)
LONGEST_SECONDS = 2.0


class Writer:
    """Draws requests from chance and sends them to an app of its own."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._loop = asyncio.new_event_loop()
        self._app, self._samples = self._loop.run_until_complete(self._start())

    async def _start(self) -> tuple[App, list[tuple[Resource, dict[str, Any]]]]:
        self._store = await open_memory()
        kinds = KindRegistry(self._store, catalog.load())
        api = ServerContext(self._store, kinds, FakeClock(), new_uid=lambda: str(uuid.uuid4()), random=self._chance)
        await bootstrap.ensure_namespaces(api)
        found = [(api.catalog.find_kind(*key), sample) for key, sample in SAMPLES.items()]
        return App(api), [(resource, sample) for resource, sample in found if resource is not None]

    def close(self) -> None:
        self._loop.run_until_complete(self._store.close())
        self._loop.close()

    def write(self) -> None:
        """Send one request."""
        resource, sample = self._chance.choice(self._samples)
        object_ = {"apiVersion": str(resource.group_version), "kind": resource.kind, **copy.deepcopy(sample)}
        object_["metadata"] = {**(object_.get("metadata") or {}), "name": self._chance.choice(NAMES)}
        object_["metadata"].pop("namespace", None)
        prefix = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        path = f"{prefix}{'/namespaces/default' if resource.is_namespaced else ''}/{resource.plural}"
        method = self._chance.choice(["POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "GET"])
        media = self._chance.choice(PATCHES) if method == "PATCH" else "application/json"
        if method != "POST":
            parts = [f"/{one.name}" for one in resource.subresources]
            path += f"/{self._chance.choice(NAMES)}{self._chance.choice(['', '', *parts])}"
        self._send(method, path, self._body(method, media, object_), media)

    def _body(self, method: str, media: str, object_: dict[str, Any]) -> bytes:
        if method in {"DELETE", "GET"}:
            options = {"propagationPolicy": "Background", "preconditions": {"uid": "x"}, "dryRun": ["All"], "gracePeriodSeconds": 0}
            return orjson.dumps(self._mutated(options)) if method == "DELETE" and self._chance.random() < 0.5 else b""
        if media.startswith("application/json-patch"):
            return orjson.dumps([self._operation(object_) for _ in range(self._chance.randint(1, 4))])
        return orjson.dumps(object_ if self._chance.random() < 0.2 else self._mutated(object_))

    def _operation(self, object_: dict[str, Any]) -> dict[str, Any]:
        one, other = ("".join(f"/{part}" for part in self._chance.choice(list(places(object_)))) for _ in range(2))
        what = self._chance.choice(["add", "remove", "replace", "move", "copy", "test"])
        return {"op": what, "path": one, "from": other, "value": self._chance.choice(ODD)}

    def _mutated(self, value: dict[str, Any]) -> dict[str, Any]:
        for _ in range(self._chance.choice([1, 1, 1, 2, 5])):
            inner = [place for place in places(value) if place]
            if inner:
                self._mutate(value, *self._chance.sample(inner, k=1))
        return value

    def _mutate(self, value: dict[str, Any], place: tuple[str | int, ...]) -> None:
        holder = at(value, place[:-1])
        match self._chance.randint(0, 5):
            case 0:
                del holder[place[-1]]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[int(place[-1])]))
            case 2:
                holder[place[-1]] = copy.deepcopy(at(value, self._chance.choice(list(places(value)))))
            case _:
                holder[place[-1]] = copy.deepcopy(self._chance.choice(ODD))

    def _send(self, method: str, path: str, body: bytes, media: str) -> None:
        form, query = self._chance.choice(FORMS), self._chance.choice(OPTIONS)
        headers = [(b"content-type", media.encode()), (b"accept", form.encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        began = time.process_time()
        code, answer = self._loop.run_until_complete(_asked(self._app, scope, body))
        about = (method, path, media, query, body, answer[:1000])
        assert code < 500, about
        assert code < 400 or _refusal(answer, form)["kind"] == "Status", about
        assert time.process_time() - began < LONGEST_SECONDS, about


def _refusal(answer: bytes, form: str) -> Any:
    if answer.startswith(b"k8s\0"):
        return {"kind": decode.parse_envelope(answer).kind}
    return yaml.safe_load(answer) if "yaml" in form else orjson.loads(answer)


async def _asked(app: App, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@hypothesis.settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@hypothesis.given(st.integers(0, 2**32))
def test_object_with_something_wrong_in_it_is_done_or_refused(seed: int) -> None:
    writer = Writer(random.Random(seed))  # noqa: S311
    try:
        for _ in range(400):
            writer.write()
    finally:
        writer.close()
