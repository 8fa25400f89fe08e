"""What can be said about any request, and paths that are no resources."""

from __future__ import annotations

import httpx
import pytest


@pytest.mark.parametrize(
    "timeout", ["30s", "1m30s", "5m1s", "1h0m0s", "1.5h", ".5s", "1500ms", "100000us", "100000µs", "0s", "0", "32"]
)
def test_length_of_time_as_clients_write_it_is_understood(http: httpx.Client, timeout: str) -> None:
    for verb in ({}, {"watch": "1", "timeoutSeconds": "1"}):
        with http.stream("GET", "/api/v1/namespaces", params={"timeout": timeout, **verb}) as answer:
            assert answer.status_code == 200


@pytest.mark.parametrize("timeout", ["1 m", "m", "-1s", "1d", "s30", "1m30", "1s" * 1_000])
def test_what_is_no_length_of_time_is_refused(http: httpx.Client, timeout: str) -> None:
    answer = http.get("/api/v1/namespaces", params={"timeout": timeout})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert "1m30s" in answer.json()["message"]


def test_root_tells_where_one_can_go_on(http: httpx.Client) -> None:
    paths = http.get("/").json()["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/openapi/v3", "/version"} <= set(paths)
    assert paths == sorted(paths)
    assert all(http.get(path).status_code == 200 for path in paths)
    assert http.post("/").status_code == 405


def test_checks_that_are_excluded_are_not_asked(http: httpx.Client) -> None:
    told = http.get("/readyz", params={"verbose": "", "exclude": ["store", "nothing"]})
    assert told.status_code == 200
    assert {"[+]ping ok", "[+]store excluded: ok", "[+]collector ok"} <= set(told.text.splitlines())
