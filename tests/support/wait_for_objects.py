"""Waiting for what a server does by itself, by watching it: no sleeps, and the last state in the failure's message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from support import server_process

Object = dict[str, Any]
SECONDS = 60


def until(http: httpx.Client, collection: str, name: str, holds: Callable[[Object | None], bool]) -> Object | None:
    """The object as it is when `holds` does; it is asked with None when there is no such object."""
    only = {"fieldSelector": f"metadata.name={name}"}
    found = http.get(collection, params=only).json()
    now = found["items"][0] if found["items"] else None
    if holds(now):
        return now
    since = {"resourceVersion": found["metadata"]["resourceVersion"], "watch": "1", "timeoutSeconds": str(SECONDS)}
    with http.stream("GET", collection, params=only | since, timeout=SECONDS + 10) as watch:
        for event in map(json.loads, watch.iter_lines()):
            now = None if event["type"] == "DELETED" else event["object"]
            if holds(now):
                return now
    raise AssertionError(f"after {SECONDS} s {name} is still {now}")


def until_gone(http: httpx.Client, collection: str, name: str) -> None:
    until(http, collection, name, lambda now: now is None)


def condition(object_: Object | None, kind: str) -> Object:
    """The condition of this type; empty if there is none."""
    conditions = ((object_ or {}).get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == kind), {})


class Served:
    """A server of one's own."""

    def __init__(self, server: server_process.Server, http: httpx.Client) -> None:
        self.server = server
        self.http = http

    def kill(self) -> None:
        self.server.kill()


@contextmanager
def serving(store: str, folder: Path) -> Iterator[Served]:
    """A server on this store, in a process that can be killed."""
    with server_process.mortal(folder, store, "--insecure") as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield Served(server, client)
