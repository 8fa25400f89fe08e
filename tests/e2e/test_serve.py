"""`probate serve` as a user runs it: a real process, asked over HTTP, stopped by signals."""

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
GREETING = re.compile(r"probate: serving (http://\S+) from (\S+), ready after (\d+\.\d\d) s\.")


class Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.output = process.stdout
        greeting = GREETING.match(self.output.readline())
        assert greeting is not None
        self.url, self.store, self.took = greeting.groups()

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=60) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()

    def send(self, method: str, path: str, body: Any) -> bytes:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, orjson.dumps(body), headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            sent: bytes = answer.read()
            return sent


@contextmanager
def serving(*options: str, cwd: Path) -> Iterator[Server]:
    command = [*PROBATE, "serve", "--insecure", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=cwd, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROBATE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_it_prints_its_address_and_how_long_it_took_and_answers(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as server:
        assert server.store == "sqlite:probate.db"
        assert (tmp_path / "probate.db").exists()
        assert server.url in (tmp_path / "probate.kubeconfig").read_text()
        assert (tmp_path / "probate.kubeconfig").stat().st_mode & 0o777 == 0o600
        assert server.get("/livez") == (200, b"ok")
        assert server.get("/readyz") == (200, b"ok")
        code, told = server.get("/readyz?verbose")
        assert (code, told.splitlines()[-1]) == (200, b"readyz check passed")
        assert {b"[+]ping ok", b"[+]etcd ok", b"[+]store ok", b"[+]collector ok"} <= set(told.splitlines())
        assert b"poststarthook" not in told
        assert server.get("/readyz/store") == (200, b"ok")
        assert server.get("/readyz/collector") == (200, b"ok")
        assert server.get("/livez/collector")[0] == 404
        code, body = server.get("/version")
        assert code == 200
        assert orjson.loads(body)["major"] == "1"


@pytest.mark.parametrize("path", ["/nowhere", "/readyz/nothing", "/apis/none.example.com/v1/things", "/livezz"])
def test_what_is_not_there_is_a_status(tmp_path: Path, path: str) -> None:
    with serving("--store", "memory:", cwd=tmp_path) as server:
        code, body = server.get(path)
        status = orjson.loads(body)
        assert (code, status["kind"], status["code"]) == (404, "Status", 404)
        assert path in status["message"]


def test_a_grace_period_that_no_node_could_keep_is_refused_with_what_to_do(tmp_path: Path) -> None:
    refused = run("serve", "--store", "memory:", "--insecure", "--node-monitor-grace-period", "0.5s", cwd=tmp_path)
    assert refused.returncode != 0
    assert "--node-monitor-grace-period is 0.5s" in refused.stderr
    assert "Give 1s or more" in refused.stderr


def test_both_config_maps_of_authorities_are_there_without_tls_too(tmp_path: Path) -> None:
    with serving("--store", "memory:", cwd=tmp_path) as server:
        wanted = {"default": "kube-root-ca.crt", "kube-system": "extension-apiserver-authentication"}
        for namespace, name in wanted.items():
            path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=60&fieldSelector=metadata.name={name}"
            with urllib.request.urlopen(server.url + path, timeout=60) as news:  # noqa: S310
                event = orjson.loads(news.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
            assert not any((event["object"].get("data") or {}).values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_frees_the_store(tmp_path: Path, number: signal.Signals) -> None:
    with serving(cwd=tmp_path) as server:
        server.process.send_signal(number)
        assert server.process.wait(timeout=60) == 0
        assert server.output.read() == "probate: stopped\n"
    assert not (tmp_path / "probate.db-wal").exists(), "the store was not closed"


def test_insecure_is_plain_http_on_loopback(tmp_path: Path) -> None:
    with serving("--store", "memory:", "--insecure", cwd=tmp_path) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.get("/readyz") == (200, b"ok")


def test_a_second_server_on_the_same_store_names_the_first(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as server:
        second = run("serve", "--insecure", "--listen", "127.0.0.1:0", cwd=tmp_path)
        assert second.returncode == 1
        assert f"in use by process {server.process.pid}" in second.stderr
        assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--store", "mysql:x"], "'mysql:x' is no store. Give sqlite:FILE, memory: or etcd://HOST:PORT"),
        (["--store", "sqlite:"], "'sqlite:' is no store"),
        (["--store", "sqlite:/nowhere/x.db"], "there is no folder /nowhere"),
        (["--store", "memory:", "--listen", "nonsense"], "'nonsense' is no address to listen on"),
        (["--store", "memory:", "--listen", "0.0.0.0:0"], "plain HTTP is served on loopback only"),
        (["--store", "memory:", "--listen", "0.0.0.0:0", "--insecure"], "plain HTTP is served on loopback only"),
        (["--store", "memory:", "--listen", "127.0.0.1:99999"], "is no address to listen on"),
        (["--store", "memory:", "--controllers", "all,-job"], "'-job' is no controller. Give all, none, or names of collector, "),
    ],
)
def test_a_bad_setting_is_one_clear_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    refused = run("serve", "--insecure", *arguments, cwd=tmp_path)
    assert refused.returncode == 1
    assert message in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with serving("--store", "memory:", cwd=tmp_path) as server:
        refused = run("serve", "--insecure", "--store", "memory:", "--listen", server.url.removeprefix("http://"), cwd=tmp_path)
        assert refused.returncode == 1
        assert "Address already in use" in refused.stderr


@pytest.mark.parametrize("text", ["24", "h", "-1h", "1w"])
def test_a_bad_length_of_time_says_how_to_write_one(tmp_path: Path, text: str) -> None:
    refused = run("serve", "--history", text, cwd=tmp_path)
    assert refused.returncode == 2
    assert "200ms, 90s, 1h30m, 3d12h" in refused.stderr


def test_watch_ends_cleanly_when_the_server_stops(tmp_path: Path) -> None:
    with serving("--store", "memory:", cwd=tmp_path) as server:
        path = "/api/v1/namespaces?watch=1&resourceVersion=1"
        with urllib.request.urlopen(server.url + path, timeout=60) as watch:  # noqa: S310
            assert orjson.loads(watch.readline())["type"] == "ADDED"
            server.process.send_signal(signal.SIGTERM)
            rest = watch.read()  # would raise if the stream were cut off in the middle
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
            server = Server(process)
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
