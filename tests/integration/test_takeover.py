"""The server that runs the controllers is killed or stopped: another takes over, and the time it takes is printed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from probate.controllers.runtime.leader_election import DURATION_SECONDS
from support import etcd_members, wait_for_objects

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.mark.parametrize("way", ["kill", "end"])
def test_controllers_paused_for_fifteen_seconds_after_their_server_stopped(
    etcd_member: etcd_members.Member, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    store = f"etcd://{etcd_member.endpoint}/takeover-{way}"
    with wait_for_objects.serving(store, tmp_path) as one, wait_for_objects.serving(store, tmp_path) as other:
        assert other.http.post(REPLICA_SETS, json=replica_set(1)).status_code == 201
        holder = made(other, 1)  # so the first one leads, and works
        (one.server.kill if way == "kill" else one.server.stop)()
        began = time.monotonic()
        assert other.http.patch(f"{REPLICA_SETS}/web", json={"spec": {"replicas": 2}}, headers=MERGE).status_code == 200
        assert made(other, 2) != holder
        with capsys.disabled():
            took = time.monotonic() - began
            print(f" [after the {way}: {took:.2f} s to the next pod, with a lease of {DURATION_SECONDS} s] ", end="")


def replica_set(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def made(server: wait_for_objects.RunningServer, number: int) -> str:
    """Waits until this many pods exist and returns the leading server."""
    found = wait_for_objects.wait_until(
        server.http,
        REPLICA_SETS,
        "web",
        holds=lambda now: now is not None and (now.get("status") or {}).get("replicas") == number,
    )
    assert found is not None
    return str(server.http.get(f"{LEASES}/probate").json()["spec"]["holderIdentity"])
