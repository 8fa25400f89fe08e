"""`kill -9` of servers at each step of a tenant's life: it disappears with all it has, nothing comes back, others stay as they are.

Each test looks at the store itself afterwards (`support.tenant_remains`), not at what the server says about it.
"""

from __future__ import annotations

import asyncio
import functools
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from probate.store.sqlite.store import open_file
from support.in_process_server import InProcessServer, running
from support.server_process import ServerProcess, run_killable_server
from support.tenant_remains import Contents, contents_of_file, parts_of, remains, wrong_entries

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VOLUMES = "/api/v1/persistentvolumes"
MERGE = {"Content-Type": "application/merge-patch+json"}
HOLD = "example.com/hold"
DELETED, OTHER = "111111", "222222"
MAPS = 1_500
"""ConfigMaps of each of the two namespaces of the tenant that is deleted."""
ROUNDS, MORE_ROUNDS, KILLS = 3, 12, 3
SECONDS = 60.0
NOBODY = "none"
SWEEPERS = "namespace-controller,customresourcedefinition-finalizer-controller,tenant-deletion-controller"
PROVISIONER = "tenant-controller"
PROVISIONED = 10
"""The ClusterRoles of a new tenant."""


async def fill(house: InProcessServer, tenant: str, maps: int) -> None:
    await house.create("apis/tenant.kubezoo.io/v1alpha1/tenants", "", {"metadata": {"name": tenant}})
    for name in ("web", "db"):
        namespace = f"{tenant}-{name}"
        await house.create("namespaces", "", {"metadata": {"name": namespace}})
        for start in range(0, maps, 100):
            numbers = range(start, min(start + 100, maps))
            await asyncio.gather(*(house.create("configmaps", namespace, {"metadata": {"name": f"map-{one}"}}) for one in numbers))
        pod = {"metadata": {"name": "pod"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await house.create("pods", namespace, pod)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    group = f"{tenant}-a.com"
    spec = {"group": group, "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    await house.create(
        "apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", {"metadata": {"name": f"foos.{group}"}, "spec": spec}
    )
    await house.api.kinds.refresh(now=house.api.timestamp())
    for number in range(50):
        foo = {"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": f"{tenant}-{number}"}}
        await house.create(f"apis/{group}/v1/foos", "", foo)
        await house.create("apis/rbac.authorization.k8s.io/v1/clusterroles", "", {"metadata": {"name": f"{tenant}-{number}"}})
    disk = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    claim = {"claimRef": {"namespace": f"{tenant}-web", "name": "c"}}
    await house.create("persistentvolumes", "", {"metadata": {"name": f"pvc-{tenant}"}, "spec": {**disk, **claim}})


async def prepare(path: Path) -> None:
    async with running(await open_file(path), collects=False) as house:
        await fill(house, DELETED, MAPS)
        await fill(house, OTHER, 20)
        for name in (DELETED, f"{DELETED}x", "platform"):
            await house.create("namespaces", "", {"metadata": {"name": name}})
            await house.create("configmaps", name, {"metadata": {"name": "kept"}})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "probate.db"
    asyncio.run(prepare(path))
    return path


@pytest.fixture
def store(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(prepared, tmp_path / "probate.db"))


@contextmanager
def serving(store: Path, controllers: str) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    options = ("--insecure", "--controllers", controllers)
    with (
        run_killable_server(store.parent, f"sqlite:{store}", *options) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS) as client,
    ):
        yield server, client


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end


def is_gone(client: httpx.Client, tenant: str = DELETED) -> bool:
    return client.get(f"{TENANTS}/{tenant}").status_code == 404


def release_volumes(client: httpx.Client) -> None:
    """Removes the finalizers whose controller does not run here."""
    for name in (f"pvc-{DELETED}", f"pvc-{OTHER}"):
        client.patch(f"{VOLUMES}/{name}", json={"metadata": {"finalizers": None}}, headers=MERGE)


def delete(client: httpx.Client) -> None:
    release_volumes(client)
    assert client.delete(f"{TENANTS}/{DELETED}").status_code == 200


def others(there: Contents) -> dict[str, bytes]:
    """Returns what does not belong to the deleted tenant and no server changes by itself, as it does the counts in Tenants."""
    own = {*remains(there, DELETED)}
    passing = ("objects/positions.", "objects/leases.", "objects/events/")
    return {
        key: value.partition(b'"status":')[0] if key.startswith("objects/tenants.") else value
        for key, value in there.items()
        if key not in own and not key.startswith(passing) and not key.endswith("/default/kubernetes")
    }


def check_only_that_tenant_is_gone(store: Path, before: Contents) -> None:
    there = contents_of_file(store)
    assert remains(there, DELETED) == []
    assert wrong_entries(there) == []
    assert parts_of(there, OTHER)
    assert others(there) == others(before)


def finish(store: Path) -> None:
    """Starts a server that completes what was begun."""
    with serving(store, SWEEPERS) as (_, client):
        wait_until(lambda: is_gone(client))


def released(store: Path) -> Contents:
    """Returns the contents of the store once its volumes are released."""
    with serving(store, NOBODY) as (_, client):
        release_volumes(client)
    return contents_of_file(store)


def test_kill_after_the_tenant_was_closed(store: Path) -> None:
    before = released(store)
    with serving(store, NOBODY) as (server, client):
        delete(client)
        server.kill()
    with serving(store, NOBODY) as (server, client):
        refused = client.post(f"/api/v1/namespaces/{DELETED}-web/configmaps", json={"metadata": {"name": "late"}})
        assert refused.status_code == 403
        assert refused.json()["details"]["causes"][0]["reason"] == "TenantTerminating"
        server.kill()
    finish(store)
    check_only_that_tenant_is_gone(store, before)


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(MORE_ROUNDS, marks=pytest.mark.long)])
def test_kills_in_the_middle_of_the_sweep(store: Path, tmp_path: Path, rounds: int) -> None:
    before, rng, in_the_middle = released(store), random.Random(), 0  # noqa: S311
    for turn in range(rounds):
        folder = tmp_path / str(turn)
        folder.mkdir()
        path = Path(shutil.copy(store, folder / "probate.db"))
        with serving(path, NOBODY) as (server, client):
            delete(client)
            server.kill()
        for _ in range(KILLS):
            left = len(remains(contents_of_file(path), DELETED))
            if not left:
                break
            with serving(path, SWEEPERS) as (server, client):
                kill_after(server, client, rng.randrange(0, max(1, left // 4)))
            in_the_middle += 0 < len(remains(contents_of_file(path), DELETED)) < left
        finish(path)
        check_only_that_tenant_is_gone(path, before)
    assert in_the_middle > rounds / 2


def kill_after(server: ServerProcess, client: httpx.Client, deletions: int) -> None:
    """Kills the server once it has deleted so many ConfigMaps, or all."""
    gone = 0
    with client.stream("GET", "/api/v1/configmaps?watch=1&timeoutSeconds=3") as events:
        for line in events.iter_lines():
            gone += line.startswith('{"type":"DELETED"')
            if gone >= deletions:
                break
        server.kill()


def test_kill_between_the_last_object_and_the_tenant(store: Path) -> None:
    before = released(store)
    with serving(store, NOBODY) as (_, client):
        client.patch(f"{TENANTS}/{DELETED}", json={"metadata": {"finalizers": ["kubezoo.io/tenant", HOLD]}}, headers=MERGE)
        delete(client)
    with serving(store, SWEEPERS) as (server, client):
        wait_until(lambda: f"finalizers of the Tenant: {HOLD}" in client.get(f"{TENANTS}/{DELETED}").text)
        server.kill()
    assert remains(contents_of_file(store), DELETED) == [f"objects/tenants.tenant.kubezoo.io/-/{DELETED}"]
    with serving(store, NOBODY) as (server, client):
        client.patch(f"{TENANTS}/{DELETED}", json={"metadata": {"finalizers": ["kubezoo.io/tenant"]}}, headers=MERGE)
        assert not is_gone(client)
        server.kill()
    finish(store)
    check_only_that_tenant_is_gone(store, before)


def test_kill_as_soon_as_the_tenant_is_gone(store: Path) -> None:
    before = released(store)
    with serving(store, NOBODY) as (_, client):
        delete(client)
    with serving(store, SWEEPERS) as (server, client), client.stream("GET", f"{TENANTS}?watch=1") as events:
        next(line for line in events.iter_lines() if line.startswith('{"type":"DELETED"'))
        server.kill()
    check_only_that_tenant_is_gone(store, before)
    with serving(store, f"{SWEEPERS},{PROVISIONER}") as (_, client):
        assert is_gone(client)
        assert client.post(TENANTS, json={"metadata": {"name": DELETED}}).status_code == 201
        wait_until(lambda: is_active(client, DELETED))
        assert client.get(f"/api/v1/namespaces/{DELETED}-web").status_code == 404


def is_active(client: httpx.Client, tenant: str) -> bool:
    found: dict[str, Any] = client.get(f"{TENANTS}/{tenant}").json()
    return (found.get("status") or {}).get("phase") == "Active"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_kills_while_a_tenant_is_provisioned(tmp_path: Path, is_deleted: bool) -> None:
    rng = random.Random()  # noqa: S311
    store = tmp_path / "probate.db"
    for turn in range(ROUNDS):
        tenant = f"tenan{turn}"
        with serving(store, PROVISIONER) as (server, client), client.stream("GET", f"{ROLES}?watch=1") as events:
            lines = events.iter_lines()
            assert client.post(TENANTS, json={"metadata": {"name": tenant}}).status_code == 201
            for _ in range(rng.randrange(PROVISIONED)):
                next(line for line in lines if f'"name":"{tenant}-' in line)
            server.kill()
        with serving(store, f"{SWEEPERS},{PROVISIONER}") as (_, client):
            if is_deleted:
                assert client.delete(f"{TENANTS}/{tenant}").status_code == 200
                wait_until(functools.partial(is_gone, client, tenant))
            else:
                wait_until(functools.partial(is_active, client, tenant))
                names = [one["metadata"]["name"] for one in client.get("/api/v1/namespaces").json()["items"]]
                assert len([name for name in names if name.startswith(tenant)]) == 4
        there = contents_of_file(store)
        assert wrong_entries(there) == []
        assert bool(remains(there, tenant)) != is_deleted
