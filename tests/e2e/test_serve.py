"""`probate serve` as a user runs it: a real process, used over HTTP, stopped by signals."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

PROBATE = [sys.executable, "-m", "probate"]
START_LINE = re.compile(r"probate: serving (http://\S+) from (\S+), ready after (\d+\.\d\d) s\.")


class RunningServer:
    """A running server process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.output = process.stdout
        start_line = START_LINE.match(self.output.readline())
        assert start_line is not None
        self.url, self.store, self.elapsed = start_line.groups()

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=60) as response:  # noqa: S310
                return response.status, response.read()
        except urllib.error.HTTPError as failed:
            with failed:
                return failed.code, failed.read()

    def send(self, method: str, path: str, body: Any) -> bytes:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, orjson.dumps(body), headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            body_: bytes = response.read()
            return body_


@contextmanager
def run_server(*options: str, cwd: Path) -> Iterator[RunningServer]:
    command = [*PROBATE, "serve", "--insecure", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=cwd, text=True) as process:
        try:
            yield RunningServer(process)
        finally:
            process.kill()


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROBATE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_start_line_has_the_url_and_the_server_answers(tmp_path: Path) -> None:
    with run_server(cwd=tmp_path) as server:
        assert server.store == "sqlite:probate.db"
        assert (tmp_path / "probate.db").exists()
        assert server.url in (tmp_path / "probate.kubeconfig").read_text()
        assert (tmp_path / "probate.kubeconfig").stat().st_mode & 0o777 == 0o600
        assert server.get("/livez") == (200, b"ok")
        assert server.get("/readyz") == (200, b"ok")
        code, checks = server.get("/readyz?verbose")
        assert (code, checks.splitlines()[-1]) == (200, b"readyz check passed")
        assert {b"[+]ping ok", b"[+]etcd ok", b"[+]store ok", b"[+]garbage-collector-controller ok"} <= set(checks.splitlines())
        assert b"poststarthook" not in checks
        assert server.get("/readyz/store") == (200, b"ok")
        assert server.get("/readyz/garbage-collector-controller") == (200, b"ok")
        assert server.get("/livez/garbage-collector-controller")[0] == 404
        code, body = server.get("/version")
        assert code == 200
        assert orjson.loads(body)["major"] == "1"


@pytest.mark.parametrize("path", ["/nowhere", "/readyz/nothing", "/apis/none.example.com/v1/things", "/livezz"])
def test_unknown_path_is_answered_with_a_status(tmp_path: Path, path: str) -> None:
    with run_server("--store", "memory:", cwd=tmp_path) as server:
        code, body = server.get(path)
        status = orjson.loads(body)
        assert (code, status["kind"], status["code"]) == (404, "Status", 404)
        assert path in status["message"]


def test_grace_period_below_the_minimum_is_refused(tmp_path: Path) -> None:
    failed = run("serve", "--store", "memory:", "--insecure", "--node-monitor-grace-period", "0.5s", cwd=tmp_path)
    assert failed.returncode != 0
    assert "--node-monitor-grace-period is 0.5s" in failed.stderr
    assert "Use 1s or more" in failed.stderr


def test_both_ca_config_maps_exist_without_tls_too(tmp_path: Path) -> None:
    with run_server("--store", "memory:", cwd=tmp_path) as server:
        config_maps = {"default": "kube-root-ca.crt", "kube-system": "extension-apiserver-authentication"}
        for namespace, name in config_maps.items():
            path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=60&fieldSelector=metadata.name={name}"
            with urllib.request.urlopen(server.url + path, timeout=60) as watch:  # noqa: S310
                event = orjson.loads(watch.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
            assert not any((event["object"].get("data") or {}).values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_server_cleanly_and_closes_the_store(tmp_path: Path, number: signal.Signals) -> None:
    with run_server(cwd=tmp_path) as server:
        server.process.send_signal(number)
        assert server.process.wait(timeout=60) == 0
        assert server.output.read() == "probate: stopped\n"
    assert not (tmp_path / "probate.db-wal").exists(), "the store was not closed"


def test_insecure_serves_plain_http_on_loopback(tmp_path: Path) -> None:
    with run_server("--store", "memory:", "--insecure", cwd=tmp_path) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.get("/readyz") == (200, b"ok")


def test_second_server_on_the_same_store_names_the_first(tmp_path: Path) -> None:
    with run_server(cwd=tmp_path) as server:
        second = run("serve", "--insecure", "--listen", "127.0.0.1:0", cwd=tmp_path)
        assert second.returncode == 1
        assert f"in use by process {server.process.pid}" in second.stderr
        assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--store", "mysql:x"], "'mysql:x' is not a store address. Give sqlite:FILE, memory: or etcd://HOST:PORT"),
        (["--store", "sqlite:"], "'sqlite:' is not a store address"),
        (["--store", "sqlite:/nowhere/x.db"], "there is no folder /nowhere"),
        (["--store", "memory:", "--listen", "nonsense"], "cannot listen on 'nonsense': not a HOST:PORT address"),
        (["--store", "memory:", "--listen", "0.0.0.0:0"], "--insecure serves plain HTTP on loopback addresses only"),
        (["--store", "memory:", "--listen", "0.0.0.0:0", "--insecure"], "--insecure serves plain HTTP on loopback addresses only"),
        (["--store", "memory:", "--listen", "127.0.0.1:99999"], "not a HOST:PORT address"),
        (
            ["--store", "memory:", "--controllers", "all,-job"],
            "'-job' is not a controller. Give all, none, or names of garbage-collector-controller, ",
        ),
    ],
)
def test_invalid_setting_is_reported_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    failed = run("serve", "--insecure", *arguments, cwd=tmp_path)
    assert failed.returncode == 1
    assert message in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_port_in_use_is_reported(tmp_path: Path) -> None:
    with run_server("--store", "memory:", cwd=tmp_path) as server:
        failed = run("serve", "--insecure", "--store", "memory:", "--listen", server.url.removeprefix("http://"), cwd=tmp_path)
        assert failed.returncode == 1
        assert "Address already in use" in failed.stderr


@pytest.mark.parametrize("text", ["24", "h", "-1h", "1w"])
def test_invalid_duration_is_reported_with_examples(tmp_path: Path, text: str) -> None:
    failed = run("serve", "--history", text, cwd=tmp_path)
    assert failed.returncode == 2
    assert "200ms, 90s, 1h30m, 3d12h" in failed.stderr


def test_watch_ends_cleanly_when_the_server_stops(tmp_path: Path) -> None:
    with run_server("--store", "memory:", cwd=tmp_path) as server:
        path = "/api/v1/namespaces?watch=1&resourceVersion=1"
        with urllib.request.urlopen(server.url + path, timeout=60) as watch:  # noqa: S310
            assert orjson.loads(watch.readline())["type"] == "ADDED"
            server.process.send_signal(signal.SIGTERM)
            rest = watch.read()  # raises if the stream is cut off
        assert all(orjson.loads(line)["type"] == "ADDED" for line in rest.splitlines())
        assert server.process.wait(timeout=60) == 0


def test_log_says_why_an_object_was_collected(tmp_path: Path) -> None:
    command = [
        *PROBATE,
        "serve",
        "--insecure",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory:",
        "--log-level",
        "info",
        "--log-format",
        "json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        try:
            server = RunningServer(process)
            folder = "/api/v1/namespaces/default/configmaps"
            uid = orjson.loads(server.send("POST", folder, {"metadata": {"name": "owner"}}))["metadata"]["uid"]
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
            server.send("POST", folder, {"metadata": {"name": "child", "ownerReferences": [reference]}})
            server.send("DELETE", f"{folder}/owner", {})
            assert process.stderr is not None
            line = orjson.loads(process.stderr.readline())
        finally:
            process.kill()
    assert (line["message"], line["what"], line["name"], line["policy"]) == ("deleted", "configmaps", "child", "Background")
    assert line["because"] == f"owner ConfigMap owner ({uid}) is gone"
