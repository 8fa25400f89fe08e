"""`probate store check`: its output, its exit code, and that it changes nothing."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from support import etcd_members, server_process, stored_value_damage
from support.stored_value_damage import DamageTarget, EtcdRoot, SqliteFile

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def check(store: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probate", "store", "check", "--store", store]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def fill(place: DamageTarget, folder: Path) -> None:
    with (
        server_process.run_server(folder, place.address, *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        for name in ("x", "y"):
            assert http.post(CONFIGMAPS, json={"metadata": {"name": name}}).status_code == 201
            assert http.put(f"{CONFIGMAPS}/{name}", json={"metadata": {"name": name}, "data": {"a": "b"}}).status_code == 200


def digests(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.glob("probate.db*"))}


def test_sqlite_store_is_checked_and_not_changed(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    fill(place, tmp_path)
    before = digests(tmp_path)
    healthy = check(place.address)
    assert (healthy.returncode, healthy.stderr) == (0, "")
    assert "all is well" in healthy.stdout
    assert digests(tmp_path) == before
    stored_value_damage.flip_bit(place, "objects/configmaps/default/y")
    place.run("UPDATE log SET value = zeroblob(9) WHERE key LIKE '%/default/x' AND rev NOT IN (SELECT rev FROM live)")
    before = digests(tmp_path)
    damaged = check(place.address)
    assert damaged.returncode == 1
    header, *rows = [line.split() for line in damaged.stdout.splitlines()[:-1]]
    assert header == ["RESOURCE", "NAMESPACE", "NAME", "REVISION", "PROBLEM"]
    assert [row[:3] for row in rows] == [["configmaps", "default", "y"], ["configmaps", "default", "x"]]
    assert "an earlier version" in damaged.stdout
    assert digests(tmp_path) == before


def test_sqlite_store_is_checked_while_its_server_runs(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    with (
        server_process.run_server(tmp_path, place.address, *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.post(CONFIGMAPS, json={"metadata": {"name": "x"}}).status_code == 201
        result = check(place.address)
        assert (result.returncode, f"process {server.pid} has the store open" in result.stdout) == (0, True), result
        assert http.post(CONFIGMAPS, json={"metadata": {"name": "y"}}).status_code == 201
        assert http.get("/readyz").text == "ok"


def test_sqlite_store_of_a_killed_server_is_checked_with_its_write_ahead_log(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    with (
        server_process.run_killable_server(tmp_path, place.address, *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.post(CONFIGMAPS, json={"metadata": {"name": "x"}}).status_code == 201
        server.kill()
        before = {name: digest for name, digest in digests(tmp_path).items() if not name.endswith("-shm")}
        assert check(place.address).returncode == 0
        assert {name: digest for name, digest in digests(tmp_path).items() if not name.endswith("-shm")} == before


def test_etcd_store_is_checked(tmp_path: Path, etcd_member: etcd_members.Member) -> None:
    place = EtcdRoot(etcd_member)
    fill(place, tmp_path)
    assert check(place.address).returncode == 0
    stored_value_damage.overwrite_with_garbage(place, "objects/configmaps/default/x")
    result = check(place.address)
    assert (result.returncode, result.stdout.count("\nconfigmaps ")) == (1, 1)


@pytest.mark.parametrize(
    ("store", "message"), [("memory:", "is not a store that can be checked"), ("sqlite:none.db", "does not exist")]
)
def test_invalid_store_is_reported_in_one_line(store: str, message: str) -> None:
    result = check(store)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
