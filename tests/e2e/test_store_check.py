"""`probate store check`: what it lists, what it leaves alone, and how it ends."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from support import etcd_members, server_process, stored_value_damage
from support.stored_value_damage import EtcdRoot, Place, SqliteFile

A = "/api/v1/namespaces/default/configmaps"


def check(store: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probate", "store", "check", "--store", store]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def filled(place: Place, folder: Path) -> None:
    with (
        server_process.serving(folder, place.store, *server_process.FEW) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        for name in ("x", "y"):
            assert http.post(A, json={"metadata": {"name": name}}).status_code == 201
            assert http.put(f"{A}/{name}", json={"metadata": {"name": name}, "data": {"a": "b"}}).status_code == 200


def files(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.glob("probate.db*"))}


def test_a_file_is_checked_and_left_as_it_is(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    filled(place, tmp_path)
    before = files(tmp_path)
    fine = check(place.store)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert "all is well" in fine.stdout
    assert files(tmp_path) == before
    stored_value_damage.flip(place, "objects/configmaps/default/y")
    place.run("UPDATE log SET value = zeroblob(9) WHERE key LIKE '%/default/x' AND rev NOT IN (SELECT rev FROM live)")
    before = files(tmp_path)
    damaged = check(place.store)
    assert damaged.returncode == 1
    header, *rows = [line.split() for line in damaged.stdout.splitlines()[:-1]]
    assert header == ["RESOURCE", "NAMESPACE", "NAME", "REVISION", "PROBLEM"]
    assert [row[:3] for row in rows] == [["configmaps", "default", "y"], ["configmaps", "default", "x"]]
    assert "an earlier version" in damaged.stdout
    assert files(tmp_path) == before


def test_a_file_is_checked_beside_its_server(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    with (
        server_process.serving(tmp_path, place.store, *server_process.FEW) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.post(A, json={"metadata": {"name": "x"}}).status_code == 201
        found = check(place.store)
        assert (found.returncode, f"process {server.pid} has the store open" in found.stdout) == (0, True), found
        assert http.post(A, json={"metadata": {"name": "y"}}).status_code == 201
        assert http.get("/readyz").text == "ok"


def test_a_file_that_a_killed_server_left_is_checked_with_its_log(tmp_path: Path) -> None:
    place = SqliteFile(tmp_path)
    with (
        server_process.mortal(tmp_path, place.store, *server_process.FEW) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.post(A, json={"metadata": {"name": "x"}}).status_code == 201
        server.kill()
        before = {name: digest for name, digest in files(tmp_path).items() if not name.endswith("-shm")}
        assert check(place.store).returncode == 0
        assert {name: digest for name, digest in files(tmp_path).items() if not name.endswith("-shm")} == before


def test_an_etcd_is_checked(tmp_path: Path, etcd_member: etcd_members.Member) -> None:
    place = EtcdRoot(etcd_member)
    filled(place, tmp_path)
    assert check(place.store).returncode == 0
    stored_value_damage.scribble(place, "objects/configmaps/default/x")
    found = check(place.store)
    assert (found.returncode, found.stdout.count("\nconfigmaps ")) == (1, 1)


@pytest.mark.parametrize(
    ("store", "message"), [("memory:", "is not a store that can be checked"), ("sqlite:none.db", "does not exist")]
)
def test_what_is_no_store_is_one_clear_line(store: str, message: str) -> None:
    found = check(store)
    assert found.returncode == 1
    assert message in found.stderr
    assert len(found.stderr.splitlines()) == 1
