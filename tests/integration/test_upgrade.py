"""Stores written by earlier versions open in this version and serve the same objects.

The files are made by tools/make-store-fixture.py, one for each format of the store, and are kept for good.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from probate.store.etcd import layout_version
from probate.store.sqlite import schema, upgrade
from support import etcd_members, server_process, wait_for_objects

STORES = Path(__file__).parents[1] / "data" / "stores"
FILES = sorted(one.name.removesuffix(".db.xz") for one in STORES.glob("*.db.xz"))
DUMPS = sorted(one.name.removesuffix(".json.xz") for one in STORES.glob("*-etcd.json.xz"))
A = "/api/v1/namespaces/team-a"
WIDGETS = "/apis/example.com/v1/namespaces/team-b/widgets"
ITEMS = re.compile(rb'"items":(\[.*\])', re.DOTALL)
REVISION = re.compile(r'"resourceVersion": ?"\d+"')


def unpacked(name: str) -> Any:
    return json.loads(lzma.decompress((STORES / f"{name}.json.xz").read_bytes()))


def unpack_file(name: str, folder: Path) -> Path:
    path = folder / "probate.db"
    path.write_bytes(lzma.decompress((STORES / f"{name}.db.xz").read_bytes()))
    return path


def lists(http: httpx.Client, recorded: dict[str, str], **query: str) -> dict[str, str]:
    found = {}
    for path in recorded:
        items = ITEMS.search(http.get(path, params=query).content)
        assert items is not None, path
        found[path] = items[1].decode()
    return settled(found)


def settled(found: dict[str, str]) -> dict[str, str]:
    """Without the server's own Service, which has the server's current address."""
    services = [one for one in json.loads(found["/api/v1/services"]) if one["metadata"]["name"] != "kubernetes"]
    return found | {"/api/v1/services": json.dumps(services)}


def check_cascade(http: httpx.Client) -> None:
    """Owners written by the earlier version cascade to their dependents, and a blocked one is removed once it is released."""
    assert http.delete("/apis/apps/v1/namespaces/team-a/deployments/web-0").status_code == 200
    assert http.delete(f"{WIDGETS}/owner").status_code == 200
    wait_for_objects.wait_until_gone(http, f"{A}/pods", "web-0-1-4")
    wait_for_objects.wait_until_gone(http, WIDGETS, "part-29")
    free = {"metadata": {"finalizers": None}}
    media = {"content-type": "application/merge-patch+json"}
    http.patch(f"{A}/configmaps/held", content=json.dumps(free), headers=media).raise_for_status()
    wait_for_objects.wait_until_gone(http, f"{A}/configmaps", "waiting-owner")


def test_fixtures_of_this_format_and_the_previous_one_exist() -> None:
    """Those of this format are what a later version upgrades."""
    assert {f"format-{schema.VERSION - 1}", f"format-{schema.VERSION}"} <= {*FILES}
    assert {f"format-{layout_version.VERSION - 1}-etcd", f"format-{layout_version.VERSION}-etcd"} <= {*DUMPS}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_earlier_format_does_not_serve_what_it_served(name: str, tmp_path: Path) -> None:
    path, record = unpack_file(name, tmp_path), unpacked(name)
    for _ in range(2):  # the second start finds the upgraded file
        with (
            server_process.run_server(tmp_path, f"sqlite:{path}", *server_process.GC_CONTROLLERS) as server,
            httpx.Client(base_url=server.url, timeout=60) as http,
        ):
            assert lists(http, record["now"]) == settled(record["now"])
            earlier = {"resourceVersion": record["earlier"]["revision"], "resourceVersionMatch": "Exact"}
            assert lists(http, record["earlier"]["lists"], **earlier) == settled(record["earlier"]["lists"])
    with (
        server_process.run_server(tmp_path, f"sqlite:{path}", *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        check_cascade(http)
    checked = subprocess.run(
        [sys.executable, "-m", "probate", "store", "check", "--store", f"sqlite:{path}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, "all is well" in checked.stdout) == (0, True), checked.stdout + checked.stderr


@pytest.mark.parametrize("name", DUMPS)
def test_an_etcd_of_an_earlier_layout_does_not_serve_what_it_served(
    name: str, tmp_path: Path, etcd_member: etcd_members.Member
) -> None:
    record, root = unpacked(name), f"upgrade-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    for key, value in record["keys"]:
        moved = base64.b64decode(key).replace(b"/probate/", f"/{root}/".encode(), 1)
        etcd_member.call("kv/put", key=base64.b64encode(moved).decode(), value=value)
    with (
        server_process.run_server(tmp_path, f"etcd://{etcd_member.endpoint}/{root}", *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        now = lists(http, record["now"])
        assert {path: REVISION.sub("", items) for path, items in now.items()} == {
            path: REVISION.sub("", items) for path, items in settled(record["now"]).items()
        }
        check_cascade(http)


def test_an_etcd_store_of_a_newer_layout_is_opened(tmp_path: Path, etcd_member: etcd_members.Member) -> None:
    key, value = (base64.b64encode(one).decode() for one in (b"/newer/.engine/format", b"99"))
    etcd_member.call("kv/put", key=key, value=value)
    command = [sys.executable, "-m", "probate", "serve", "--insecure", "--listen", "127.0.0.1:0"]
    refused = subprocess.run(
        [*command, "--store", f"etcd://{etcd_member.endpoint}/newer"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 1
    assert "newer Probate (store version 99" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


class Interrupted(BaseException):
    """A simulated power loss."""


def test_an_upgrade_that_is_interrupted_leaves_half_of_it(tmp_path: Path) -> None:
    """At whichever statement it stops: the file is unchanged and usable by the earlier version, or is completely upgraded."""
    name = f"format-{schema.VERSION - 1}"
    for step in range(1, 40):
        path = unpack_file(name, tmp_path)
        before = _dump(path)
        db = apsw.Connection(str(path))
        left = step

        def count(*_: object) -> bool:
            nonlocal left
            left -= 1
            if not left:
                raise Interrupted
            return True

        db.exec_trace = count
        try:
            upgrade.upgrade(db, schema.VERSION - 1, schema.VERSION)
        except Interrupted:
            db.exec_trace = None
            db.close()
            assert _dump(path) == before
        else:
            db.close()
            assert step > 4, "nothing was interrupted"
            assert _dump(path) != before
            return
    raise AssertionError("the upgrade never came to its end")


def _dump(path: Path) -> list[Any]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = ("log", "live", "gone", "entry", "times", "meta")
        return [db.pragma("user_version"), *(db.execute(f"SELECT * FROM {table}").fetchall() for table in tables)]
    finally:
        db.close()


def test_damage_from_before_the_upgrade_is_accepted_as_valid(tmp_path: Path) -> None:
    path = unpack_file("format-2", tmp_path)
    db = apsw.Connection(str(path))
    db.execute("UPDATE log SET value = x'7b226d65' WHERE rev = (SELECT rev FROM live WHERE key = 'objects/configmaps/team-a/late')")
    db.close()
    with (
        server_process.run_server(tmp_path, f"sqlite:{path}", *server_process.GC_CONTROLLERS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.get(f"{A}/configmaps/late").json()["reason"] == "StorageReadError"
        assert http.get(f"{A}/configmaps/config-001").status_code == 200
