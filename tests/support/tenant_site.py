"""A server process with tenants, each used by its own kubeconfig, and everything that is stored for them.

site = TenantSite(server, programs=kubectls, folder=tmp_path, read_store=raw_stores.sqlite_file(path))
red = site.create("team01")
red.kubectl("create", "namespace", "web")         as the tenant's user admin
site.admin("get", "namespace", "team01-web")      in the physical view
site.command("delete", "team01", "--yes", "--wait")
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support.client_programs import Program
from support.raw_stores import RawContent, RawStore
from support.server_process import ServerProcess, run_server

SECONDS = 90
NEWEST_KUBECTL = "1.37"
_EVENTS = ("objects/events/", "objects/events.events.k8s.io/")
_ADDRESSES = "ip/"
_CHANGING = (*_EVENTS, "objects/leases.coordination.k8s.io/", "objects/positions.probate.dev/")
"""What the server itself writes at any time: events, leases of servers and nodes, and how far the collector has read."""


class TenantUser(NamedTuple):
    """The user admin of a tenant."""

    kubeconfig: Path
    kubectl: Program


class TenantSite:
    """The tenants of one server."""

    def __init__(self, server: ServerProcess, *, programs: Path, folder: Path, read_store: RawStore = dict) -> None:
        self.server, self.read_store = server, read_store
        self._kubectl = programs / NEWEST_KUBECTL / "kubectl"
        self._folder = folder
        self.admin = self.program(server.kubeconfig)

    def program(self, kubeconfig: Path, path: Path | None = None) -> Program:
        """Returns kubectl, or the program of this path, as the user of a kubeconfig. Each user has a cache of their own."""
        return Program(path or self._kubectl, kubeconfig, self._folder / f"home-{kubeconfig.stem}")

    def create(self, tenant: str) -> TenantUser:
        """Creates a tenant."""
        kubeconfig = self._folder / f"{tenant}.kubeconfig"
        self.command("create", tenant, "-o", str(kubeconfig))
        return TenantUser(kubeconfig, self.program(kubeconfig))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `probate tenant …` as the administrator."""
        return subprocess.run(self._command(*arguments), capture_output=True, text=True, timeout=SECONDS, check=False)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "probate", "tenant", *arguments, "--kubeconfig", str(self.server.kubeconfig)]

    def command(self, *arguments: str) -> str:
        """Runs `probate tenant …`, which must succeed, and returns its output."""
        result = self.run(*arguments)
        assert result.returncode == 0, result
        return result.stdout

    @contextmanager
    def deleting(self, tenant: str) -> Iterator[subprocess.Popen[str]]:
        """Runs `probate tenant delete ID --wait` until the block ends."""
        arguments = self._command("delete", tenant, "--yes", "--wait")
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def assert_nothing_is_left(self, tenant: str, before: RawContent) -> None:
        """Asserts that no trace of a tenant is stored, and that everything else is as it was `before` it was deleted."""
        after = self.read_store()
        assert {key for key in after if _mentions(tenant, key, after)} == set(), "something of the tenant is left"
        owned = b"".join(one.value for key, one in before.items() if _mentions(tenant, key, before))
        kept = {key: one for key, one in _lasting(before).items() if not _mentions(tenant, key, before) and not _is_in(key, owned)}
        now = _lasting(after)
        changed = {key: (kept.get(key), now.get(key)) for key in {*kept, *now} if kept.get(key) != now.get(key)}
        assert not changed, f"something else has changed: {changed}"
        assert json.loads(self.command("verify", "--all", "-o", "json"))["findings"] == []


VIEWS = ("cluster", "tenant")
"""Whose cluster it is: the administrator's, or that of a tenant, in which clients must find the same."""


@contextmanager
def kubeconfig_of_view(view: str, folder: Path, *options: str, programs: Path) -> Iterator[Path]:
    """Runs a server, and yields the kubeconfig of its administrator, or of a tenant's."""
    if view == "cluster":
        with run_server(folder, "memory:", "--insecure", *options) as server:
            yield server.kubeconfig
    else:
        with run_server(folder, "memory:", *options) as server:
            yield TenantSite(server, programs=programs, folder=folder).create("team01").kubeconfig


def _mentions(tenant: str, key: str, content: RawContent) -> bool:
    """Whether the key or the value of a record mentions a tenant, unless it is an Event about the Tenant itself."""
    value = content[key].value
    if tenant not in key and tenant.encode() not in value:
        return False
    return not (key.startswith(_EVENTS) and _object_in(value)["involvedObject"]["kind"] == "Tenant")


def _is_in(key: str, values: bytes) -> bool:
    """Whether a key is the entry of an address of a Service that is among these values."""
    return key.startswith(_ADDRESSES) and b'"%s"' % key.removeprefix(_ADDRESSES).encode() in values


def _object_in(value: bytes) -> Any:
    """Returns the object of a stored value, without the checksum that etcd's values end with."""
    return json.JSONDecoder().raw_decode(value.decode(errors="replace"))[0]


def _lasting(content: RawContent) -> RawContent:
    """Leaves out what changes by itself."""
    return {key: one for key, one in content.items() if not key.startswith(_CHANGING)}
