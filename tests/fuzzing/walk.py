"""Sends invalid requests, one class after the other, and checks the responses and the server's memory.

`CLASSES` are the classes of bad input; docs/bad-input.md lists them. The seed and the responses determine what a walk does.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import requests

from fuzzing import definitions, patches, policies, queries, values
from fuzzing.samples import DEFINITION, SAMPLES, Sample
from fuzzing.verdict import PATIENT_SECONDS, Wrong, exchange

GROWTH = 96 << 20
"""Bytes by which a server's memory may grow once it has seen everything for a while."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SUBRESOURCES = ("",) * 20 + ("/status", "/scale", "/nonsense", "/ephemeralcontainers", "/resize", "/eviction", "/binding")
MEDIA = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "application/json;x=y",
    "é",
)


class Walk:
    """One client that means no good. `codes` has how many answers there were of each class and code."""

    def __init__(self, url: str, chance: Random) -> None:
        self._url = url
        self._chance = chance
        self._session = requests.Session()
        self._known: dict[str, Any] = {}
        self._session.post(url + DEFINITIONS, json=DEFINITION, timeout=PATIENT_SECONDS)
        self.codes: Counter[tuple[str, int]] = Counter()
        self.slowest = 0.0

    def step(self) -> None:
        """A few requests of one class."""
        name = self._chance.choice(list(CLASSES))
        CLASSES[name](self, name)

    def send(self, name: str, method: str, path: str, *, body: Any = None, media: str = "application/json", **query: str) -> int:
        """The code of the answer, which is in order. A body that is no bytes is written as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else _written(body)
        request = {
            "method": method,
            "url": self._url + path,
            "params": query,
            "data": data,
            "headers": {"Content-Type": media.encode()},
        }
        began = time.monotonic()
        code, answer = exchange(self._session, request)
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.codes[name, code] += 1
        if code in {200, 201} and method in {"GET", "PATCH", "PUT"} and answer[:1] == b"{":
            self._known[path] = json.loads(answer)
        return code

    def known(self, sample: Sample) -> Any:
        """The object as it was last seen; it is made if it is not there."""
        path = f"{sample.path}/a"
        if path not in self._known or self._chance.random() < 0.05:
            self.send("samples", "DELETE", path, gracePeriodSeconds="0")
            self.send("samples", "PATCH", path, body={"metadata": {"finalizers": None}}, media=patches.MERGE)
            self.send("samples", "POST", sample.path, body=sample.body)
            self.send("samples", "GET", path)
        found = self._known.get(path, sample.body)
        return found if found.get("kind") == sample.body["kind"] else sample.body

    # Classes of bad input.

    def patch(self, name: str) -> None:
        sample = self._chance.choice(SAMPLES)
        found = self.known(sample)
        for _ in range(8):
            media = self._chance.choice(list(patches.KINDS))
            body = patches.KINDS[media](self._chance, found)
            query = {"fieldManager": "fuzz", "force": self._chance.choice(("true", "false"))} if media == patches.APPLY else {}
            if self._chance.random() < 0.2:
                query |= queries.query(self._chance)
            self.send(name, "PATCH", f"{sample.path}/a{self._chance.choice(SUBRESOURCES)}", body=body, media=media, **query)

    def apply(self, name: str) -> None:
        sample = self._chance.choice(SAMPLES)
        found = self.known(sample)
        for _ in range(8):
            options = {"fieldManager": self._chance.choice("abc"), "force": self._chance.choice(("true", "false"))}
            body = patches.document(self._chance, found)
            path = f"{sample.path}/{self._chance.choice('aab')}{self._chance.choice(('', '', '', '/status', '/scale'))}"
            self.send(name, "PATCH", path, body=body, media=patches.APPLY, **options)

    def body(self, name: str) -> None:
        sample = self._chance.choice(SAMPLES)
        found = self.known(sample)
        for _ in range(6):
            spoiled = values.spoiled(
                self._chance, found if self._chance.random() < 0.5 else sample.body, self._chance.choice((1, 1, 2, 5))
            )
            if self._chance.random() < 0.5:
                self.send(name, "PUT", f"{sample.path}/a{self._chance.choice(SUBRESOURCES)}", body=spoiled)
            else:
                self.send(name, "POST", sample.path, body=spoiled, dryRun=self._chance.choice(("All", "", "")))

    def raw(self, name: str) -> None:
        sample = self._chance.choice(SAMPLES)
        whole = _written(sample.body)
        at = self._chance.randrange(len(whole))
        cut = whole[:at]
        noise = self._chance.randbytes(self._chance.choice((1, 20, 2000)))
        doubled = whole[:-1] + b',"kind":"a","metadata":{"name":"a","name":"b"}}'
        yaml = b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n" + cut
        for data in (cut, noise, cut + noise + whole[at:], doubled, yaml, b"k8s\x00" + noise, b"\xef\xbb\xbf" + whole, b""):
            method, path = self._chance.choice((("POST", sample.path), ("PUT", f"{sample.path}/a"), ("PATCH", f"{sample.path}/a")))
            media = self._chance.choice(list(patches.KINDS)) if method == "PATCH" else self._chance.choice(MEDIA)
            self.send(name, method, path, body=data, media=media, fieldValidation=self._chance.choice(("Strict", "")))

    def select(self, name: str) -> None:
        sample = self._chance.choice(SAMPLES)
        for _ in range(6):
            method = self._chance.choice(("GET", "GET", "GET", "DELETE"))
            self.send(name, method, sample.path, **queries.query(self._chance))
        self.send(name, "GET", f"{sample.path}/a", **queries.query(self._chance))
        self._known.pop(f"{sample.path}/a", None)

    def define(self, name: str) -> None:
        plural = f"p{self._chance.randrange(4)}"
        body = definitions.definition(self._chance, plural)
        path = f"{DEFINITIONS}/{plural}.fuzz.example.com"
        if self._chance.random() < 0.3 and self.send(name, "GET", path) == 200:
            self.send(name, "PATCH", path, body=body, media=patches.MERGE)
        else:
            self.send(name, "DELETE", path)
            if self.send(name, "POST", DEFINITIONS, body=body) != 201:
                return
        objects = "/apis/fuzz.example.com/v1/namespaces/default/" + plural
        for _ in range(6):
            made = definitions.instance(self._chance, plural)
            self.send(name, "POST", objects, body=made)
            media = self._chance.choice((patches.JSON, patches.MERGE, patches.APPLY))
            changed = patches.KINDS[media](self._chance, made)
            self.send(name, "PATCH", f"{objects}/one", body=changed, media=media, fieldManager="fuzz")
        self.send(name, "GET", objects, **queries.query(self._chance))

    def rule(self, name: str) -> None:
        make = self._chance.choice((policies.validating, policies.mutating))
        kind = "ValidatingAdmissionPolicy" if make is policies.validating else "MutatingAdmissionPolicy"
        places = [f"/apis/{policies.GROUP}/{kind.lower()[:-1]}ies", f"/apis/{policies.GROUP}/{kind.lower()}bindings"]
        self.send(name, "POST", places[0], body=make(self._chance))
        self.send(name, "POST", places[1], body=policies.binding(self._chance, kind))
        sample = SAMPLES[0]
        for _ in range(4):
            self.send(name, "POST", sample.path, body={**sample.body, "metadata": {"name": self._chance.choice("abc")}})
            change = {"data": {"k": self._chance.choice(values.STRINGS)}}
            self.send(name, "PATCH", f"{sample.path}/{self._chance.choice('abc')}", body=change, media=patches.MERGE)
        for place in places:
            self.send(name, "DELETE", f"{place}/fuzz")


CLASSES: dict[str, Callable[[Walk, str], None]] = {
    "patches of all kinds": Walk.patch,
    "documents to apply": Walk.apply,
    "bodies of creates and updates": Walk.body,
    "bytes that are no document": Walk.raw,
    "selectors and options": Walk.select,
    "definitions, rules and their objects": Walk.define,
    "policies and what they look at": Walk.rule,
}


def _written(body: Any) -> bytes:
    """JSON, also of what orjson would not write."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()


def resident(pid: int) -> int:
    """The memory of a process, in bytes; 0 where nobody tells."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def walk(url: str, pid: int, *, seconds: float, seed: int) -> tuple[Walk, int]:
    """Walk for so long: what was seen, and by how much the server has grown after the first third. Raises `Wrong` at the first
    answer that must not be, or if it has grown too much."""
    walker = Walk(url, Random(seed))  # noqa: S311
    began, settled = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        walker.step()
        if not settled and time.monotonic() - began > seconds / 3:
            settled = resident(pid)
    grown = resident(pid) - (settled or resident(pid))
    if grown > GROWTH:
        raise Wrong(f"the server has grown by {grown >> 20} MiB since a third of the time")
    return walker, grown
