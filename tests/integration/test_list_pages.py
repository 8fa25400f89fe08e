"""A paged list is a snapshot of one revision, whatever is written while its pages are fetched."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

MERGE = {"Content-Type": "application/merge-patch+json"}
OBJECTS = 1000
NAMES = [f"n{number:03}" for number in range(OBJECTS)]


@contextmanager
def writing(server: str, path: str) -> Iterator[threading.Semaphore]:
    """Updates, deletes and creates objects all over the range as fast as possible, and counts the writes."""
    stop, written = threading.Event(), threading.Semaphore(0)

    def write(client: httpx.Client, number: int) -> None:
        name = NAMES[number * 7919 % OBJECTS]
        changes = (
            lambda: client.patch(f"{path}/{name}", content='{"data":{"k":"later"}}', headers=MERGE),
            lambda: client.delete(f"{path}/{name}"),
            lambda: client.post(path, json={"metadata": {"name": f"{name}-{number}"}, "data": {"k": "later"}}),
        )
        assert changes[number % 3]().status_code in {200, 201, 404}
        written.release()

    def run() -> None:
        with httpx.Client(base_url=server, timeout=60) as client:
            for number in itertools.count():
                if stop.is_set():
                    return
                write(client, number)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()


def pages(http: httpx.Client, path: str, limit: int) -> Iterator[dict[str, Any]]:
    params = {"limit": str(limit)}
    while True:
        answer = http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        yield page
        if not page["metadata"].get("continue"):
            return
        params["continue"] = page["metadata"]["continue"]


def test_pages_of_a_thousand_objects_are_one_snapshot_under_constant_writing(
    http: httpx.Client, server: str, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in NAMES:
        assert http.post(path, json={"metadata": {"name": name}, "data": {"k": "first"}}).status_code == 201
    listing = pages(http, path, 7)
    found = [next(listing)]
    with writing(server, path) as written:
        for page in listing:
            found.append(page)
            assert written.acquire(timeout=60), "nobody writes any more"
    assert [len(page["items"]) for page in found] == [7] * 142 + [6]
    assert {page["metadata"]["resourceVersion"] for page in found} == {found[0]["metadata"]["resourceVersion"]}
    items = [item for page in found for item in page["items"]]
    assert [item["metadata"]["name"] for item in items] == NAMES
    assert {item["data"]["k"] for item in items} == {"first"}
    assert [page["metadata"].get("remainingItemCount") for page in found] == [*range(993, 0, -7), None]
    now = http.get(path).json()["items"]
    assert {item["data"]["k"] for item in now} == {"first", "later"}
    assert {item["metadata"]["name"] for item in now} - set(NAMES)
