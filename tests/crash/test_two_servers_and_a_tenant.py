"""Two servers on one etcd: one provisions tenants while they are deleted through the other. Nothing of them comes back.

The provisioning server is stopped in the middle (SIGSTOP), as a long pause of its machine would stop it. It goes on when the tenant
is gone, or when there is another one of the same ID.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support import etcd_members
from support.etcd_stores import open_store
from support.server_process import ServerProcess, run_killable_server
from support.tenant_remains import contents, remains, wrong_entries

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROUNDS = 8
ROLES_OF_TENANT = 10
SECONDS = 60.0
ROOT = "two-servers-and-a-tenant"
SWEEPERS = "namespace-controller,customresourcedefinition-finalizer-controller,tenant-deletion-controller"


@contextmanager
def serving(store: str, folder: Path, controllers: str) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    options = ("--insecure", "--controllers", controllers)
    with (
        run_killable_server(folder, store, *options) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS) as client,
    ):
        yield server, client


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end


def create(client: httpx.Client, tenant: str) -> None:
    assert client.post(TENANTS, json={"metadata": {"name": tenant}}).status_code == 201


def delete(client: httpx.Client, tenant: str) -> None:
    assert client.delete(f"{TENANTS}/{tenant}").status_code == 200
    wait_until(lambda: client.get(f"{TENANTS}/{tenant}").status_code == 404)


def wait_until_active(client: httpx.Client, tenant: str) -> None:
    wait_until(lambda: (client.get(f"{TENANTS}/{tenant}").json().get("status") or {}).get("phase") == "Active")


async def test_provisioning_that_is_overtaken_by_a_deletion(etcd_member: etcd_members.Member, tmp_path: Path) -> None:
    store, rng = f"etcd://{etcd_member.endpoint}/{ROOT}", random.Random()  # noqa: S311
    with serving(store, tmp_path, "tenant-controller") as (provisioner, one), serving(store, tmp_path, SWEEPERS) as (_, other):
        for turn in range(ROUNDS):
            tenant = f"tenan{turn}"
            with other.stream("GET", f"{ROLES}?watch=1") as events:
                lines = events.iter_lines()
                create(other, tenant)
                for _ in range(rng.randrange(ROLES_OF_TENANT)):
                    next(line for line in lines if f'"name":"{tenant}-' in line)
                provisioner.pause()
            delete(other, tenant)
            if turn % 2:
                create(other, tenant)
            provisioner.resume()
            create(other, f"after{turn}")  # once it is provisioned, the other has been, too
            wait_until_active(other, f"after{turn}")
            if turn % 2:
                wait_until_active(other, tenant)
                delete(other, tenant)
            delete(other, f"after{turn}")
        assert one.get(TENANTS).json()["items"] == []
        provisioner.stop()
    async with open_store(etcd_member.endpoint, root=ROOT) as engine:
        there = await contents(engine)
    assert any(key.startswith("objects/clusterroles.") for key in there)
    assert [remains(there, f"{name}{turn}") for name in ("tenan", "after") for turn in range(ROUNDS)] == [[]] * 2 * ROUNDS
    assert wrong_entries(there) == []
