"""`/metrics` in Prometheus' formats."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.http_server import memory_server_url

METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"
PODS = {"group": "", "version": "v1", "resource": "configmaps", "subresource": ""}


@pytest.fixture(scope="module")
def counted() -> Iterator[httpx.Client]:
    with memory_server_url("--patience", "0.5s") as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def figure(http: httpx.Client, name: str, **labels: str) -> float:
    """Returns the sum of the samples with this name and these labels."""
    families = text_string_to_metric_families(http.get("/metrics").text)
    found = [one for family in families for one in family.samples if one.name == name and labels.items() <= one.labels.items()]
    return sum(one.value for one in found)


def test_requests_are_counted_by_verb_resource_and_code(counted: httpx.Client) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    counted.post(path, json={"metadata": {"name": "counted"}})
    counted.post(path, json={"metadata": {"name": "counted"}})
    for _ in range(3):
        counted.get(f"{path}/counted")
    counted.get("/nowhere")
    assert figure(counted, "apiserver_request_total", verb="POST", code="201", **PODS) == 1
    assert figure(counted, "apiserver_request_total", verb="POST", code="409", **PODS) == 1
    assert figure(counted, "apiserver_request_total", verb="GET", code="200", **PODS) == 3
    assert figure(counted, "apiserver_request_total", verb="GET", code="404", resource="") == 1
    assert figure(counted, "apiserver_request_duration_seconds_count", verb="GET", **PODS) == 3
    assert figure(counted, "apiserver_request_duration_seconds_bucket", verb="GET", le="+Inf", **PODS) == 3
    assert 0 < figure(counted, "apiserver_request_duration_seconds_sum", verb="GET", **PODS) < 60


def test_store_revision_and_object_counts_are_reported(counted: httpx.Client) -> None:
    before = figure(counted, "probate_store_revision")
    assert counted.post("/api/v1/namespaces", json={"metadata": {"name": "more"}}).status_code == 201
    assert figure(counted, "probate_store_revision") > before > 0
    assert figure(counted, "apiserver_storage_objects", resource="namespaces") >= 4


def test_inflight_requests_and_process_metrics_are_reported(counted: httpx.Client) -> None:
    assert figure(counted, "apiserver_current_inflight_requests") == 1  # the one that asks
    assert figure(counted, "process_resident_memory_bytes") > 1_000_000


def test_openmetrics_is_served_on_request(counted: httpx.Client) -> None:
    answer = counted.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


def test_every_metric_is_documented(counted: httpx.Client) -> None:
    text = METRICS.read_text()
    shown = {family.name for family in text_string_to_metric_families(counted.get("/metrics").text)}
    ours = {name for name in shown if not name.startswith(("process_", "python_"))}
    assert len(ours) >= 6
    assert [name for name in ours if name not in text] == []


def test_watcher_that_reads_nothing_is_disconnected(counted: httpx.Client) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(8):  # more than the buffers between the two hold
        counted.post(path, json={"metadata": {"name": f"large-{number}"}, "data": {"a": "x" * 1_000_000}}).raise_for_status()
    at = urlsplit(str(counted.base_url))
    with contextlib.closing(socket.socket()) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((at.hostname, at.port))
        line.sendall(f"GET {path}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert line.recv(5) == b"HTTP/"
        assert figure(counted, "apiserver_longrunning_requests", verb="WATCH", **PODS) == 1
        deadline = time.monotonic() + 60
        while figure(counted, "apiserver_longrunning_requests", verb="WATCH", **PODS) and time.monotonic() < deadline:
            pass
        assert figure(counted, "apiserver_longrunning_requests", verb="WATCH", **PODS) == 0
