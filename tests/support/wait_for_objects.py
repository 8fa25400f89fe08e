"""Waits for asynchronous changes by watching the object: no sleeps, and the last state in the failure message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from probate.api.objects import Object
from support import server_process

SECONDS = 60


def wait_until(http: httpx.Client, collection: str, name: str, *, holds: Callable[[Object | None], bool]) -> Object | None:
    """Waits until `holds` is true and returns the object. `holds` gets None while the object does not exist."""
    selector = {"fieldSelector": f"metadata.name={name}"}
    listed = http.get(collection, params=selector).json()
    current = listed["items"][0] if listed["items"] else None
    if holds(current):
        return current
    watch_query = {"resourceVersion": listed["metadata"]["resourceVersion"], "watch": "1", "timeoutSeconds": str(SECONDS)}
    with http.stream("GET", collection, params=selector | watch_query, timeout=SECONDS + 10) as watch:
        for event in map(json.loads, watch.iter_lines()):
            current = None if event["type"] == "DELETED" else event["object"]
            if holds(current):
                return current
    raise AssertionError(f"after {SECONDS} s {name} is still {current}")


def wait_until_gone(http: httpx.Client, collection: str, name: str) -> None:
    wait_until(http, collection, name, holds=lambda current: current is None)


def condition(object_: Object | None, kind: str) -> Object:
    """Returns the condition of this type, or an empty dict."""
    conditions = ((object_ or {}).get("status") or {}).get("conditions") or []
    return next((condition_ for condition_ in conditions if condition_["type"] == kind), {})


class RunningServer:
    """A server process that belongs to one test."""

    def __init__(self, server: server_process.ServerProcess, http: httpx.Client) -> None:
        self.server = server
        self.http = http

    def kill(self) -> None:
        self.server.kill()


@contextmanager
def serving(store: str, folder: Path) -> Iterator[RunningServer]:
    """Runs a server on this store in a process that the test can kill."""
    with (
        server_process.run_killable_server(folder, store, "--insecure") as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        yield RunningServer(server, client)
