"""A kopf operator works unchanged: handlers, finalizers, timers, daemons, status, children, admission; also after failures."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.client_programs import Program
from support.client_sessions import NamespaceClient
from support.loopback_ports import free_port
from support.server_process import ServerProcess, run_server

OPERATOR = Path(__file__).parent / "operators" / "bakery.py"
ORDERS = "bakery.example.com/v1/orders"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "flour": {"type": "string"}, "watched": {"type": "boolean"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}, "subresources": {"status": {}}}
NAMES = {"plural": "orders", "kind": "Order"}
DEFINITION = {
    "metadata": {"name": "orders.bakery.example.com"},
    "spec": {"group": "bakery.example.com", "scope": "Namespaced", "names": NAMES, "versions": [VERSION]},
}


@pytest.fixture
def server(quick_path: Path) -> Iterator[ServerProcess]:
    with run_server(quick_path, f"sqlite:{quick_path / 'probate.db'}", listen=f"127.0.0.1:{free_port()}") as one:
        yield one


@pytest.fixture
def orders(client: NamespaceClient) -> NamespaceClient:
    client.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    return client


@contextmanager
def running_operator(clients: Path, client: NamespaceClient, folder: Path, **variables: str) -> Iterator[None]:
    """Runs the operator. It must exit cleanly; its output is shown if the test fails."""
    kopf = Program(clients / "python" / "bin" / "kopf", client.kubeconfig, folder)
    command = [str(clients / "python" / "bin" / "kopf"), "run", str(OPERATOR), "--standalone", "--namespace", client.namespace]
    with (
        (folder / "kopf.log").open("w") as log,
        subprocess.Popen(command, env={**kopf.environment, **variables}, stdout=log, stderr=log) as process,
    ):
        try:
            yield
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
            print((folder / "kopf.log").read_text()[-8_000:])


def order(client: NamespaceClient, name: str, **spec: Any) -> httpx.Response:
    body = {"apiVersion": "bakery.example.com/v1", "kind": "Order", "metadata": {"name": name}, "spec": spec}
    return client.ask("POST", client.path(ORDERS), body)


def rejected_order(client: NamespaceClient, name: str, **spec: Any) -> httpx.Response:
    with pytest.raises(httpx.HTTPStatusError) as caught:
        order(client, name, **spec)
    return caught.value.response


def test_operator_handles_the_whole_life_of_an_object(
    clients: Path, server: ServerProcess, orders: NamespaceClient, tmp_path: Path
) -> None:
    with running_operator(clients, orders, tmp_path):
        order(orders, "a", size=2, watched=True)
        child = orders.wait_until("the child is weighed", lambda: labelled(orders, "loaf-a"))
        [owner] = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"], owner["blockOwnerDeletion"]) == ("Order", "a", True, True)
        assert child["data"] == {"size": "2", "flour": "rye"}
        status = orders.wait_until("the timer and the daemon have written the status", lambda: completed_status(orders, "a"))
        assert (status["smell"], status["bake"]) == ("good", {"loaf": "loaf-a"})
        assert orders.get(ORDERS, "a")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
        orders.wait_until("an event is recorded", lambda: [one for one in orders.all("events") if one["reason"] == "Baked"])
        change = {"spec": {"size": 3}}
        orders.ask("PATCH", orders.path(ORDERS, "a"), change, content_type="application/merge-patch+json")
        orders.wait_until("the child follows", lambda: orders.get("configmaps", "loaf-a")["data"]["size"] == "3")
        orders.wait_until(
            "the status shows the change", lambda: orders.get(ORDERS, "a")["status"].get("bake_again/spec") == {"changed": ["size"]}
        )
        orders.ask("DELETE", orders.path(ORDERS, "a"))
        orders.wait_until("all of it is gone", lambda: orders.all(ORDERS) == [] and "loaf-a" not in orders.names("configmaps"))
        assert {"aired-a", "cleared-a"} <= set(orders.names("configmaps"))


def labelled(client: NamespaceClient, name: str) -> Any:
    found = client.get("configmaps", name)
    return found if found["metadata"].get("labels") == {"weighed": "yes"} else None


def completed_status(client: NamespaceClient, name: str) -> Any:
    status = client.get(ORDERS, name).get("status", {})
    return status if status.get("looks") == 3 and "smell" in status and "bake" in status else None


def test_admission_webhook_of_an_operator(clients: Path, server: ServerProcess, orders: NamespaceClient, tmp_path: Path) -> None:
    configurations = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations/bakery.example.com"
    with running_operator(clients, orders, tmp_path, BAKERY_CERTIFICATES=str(tmp_path)):
        for kind in ("validating", "mutating"):
            orders.wait_until(
                "the operator has registered its webhook", partial(registered_webhooks, orders, configurations.format(kind))
            )
        said = orders.wait_until("the operator answers", lambda: large_is_refused(orders))
        assert 'admission webhook "accept.bakery.example.com" denied the request: the oven is too small' in said["message"]
        order(orders, "a", size=2)
        assert orders.get(ORDERS, "a")["spec"] == {"size": 2, "flour": "spelt"}
        assert order(orders, "b", flour="white").headers["warning"] == '299 - "rye is better for you"'
        child = orders.wait_until("the child is weighed", lambda: labelled(orders, "loaf-a"))
        assert child["data"] == {"size": "2", "flour": "spelt"}


def registered_webhooks(client: NamespaceClient, path: str) -> Any:
    return client.ask("GET", path).json().get("webhooks")


def large_is_refused(client: NamespaceClient) -> Any:
    answer = rejected_order(client, "large", size=10)
    return answer.json() if answer.status_code == 422 else None


def created_loaves(client: NamespaceClient, names: list[str]) -> set[str]:
    return {f"loaf-{one}" for one in names} & set(client.names("configmaps"))


def test_operator_continues_after_a_server_failure(
    clients: Path, server: ServerProcess, orders: NamespaceClient, tmp_path: Path
) -> None:
    taken: list[str] = []
    with running_operator(clients, orders, tmp_path):
        for number in range(2):
            names = [f"order-{number}-{one}" for one in range(10)]
            for name in names:
                order(orders, name, size=number)
            taken += names
            orders.wait_until("the operator works at them", partial(created_loaves, orders, names))
            server.kill_and_restart()
            orders.ask("DELETE", orders.path(ORDERS, names[0]))
            taken.remove(names[0])
        for name in taken:  # kopf ignores an object whose finalizer it set without getting the answer, until the object changes
            orders.ask(
                "PATCH",
                orders.path(ORDERS, name),
                {"metadata": {"labels": {"news": "yes"}}},
                content_type="application/merge-patch+json",
            )
        wanted = {f"loaf-{name}" for name in taken}
        orders.wait_until("every order is carried out", lambda: wanted <= set(orders.names("configmaps")))
        orders.wait_until("what was deleted is gone", lambda: set(orders.names(ORDERS)) == set(taken))
        orders.wait_until("and its child", lambda: {one for one in orders.names("configmaps") if one.startswith("loaf")} == wanted)
        assert {f"cleared-order-{number}-0" for number in range(2)} <= set(orders.names("configmaps"))
        for name in taken:
            size = str(int(name.split("-")[1]))
            assert orders.get("configmaps", f"loaf-{name}")["data"] == {"size": size, "flour": "rye"}
        orders.ask("DELETE", orders.path(ORDERS))
        orders.wait_until("all is cleared away", lambda: orders.all(ORDERS) == [])
        orders.wait_until(
            "all children are gone", lambda: not [one for one in orders.names("configmaps") if one.startswith("loaf")]
        )
        assert {f"cleared-{name}" for name in taken} <= set(orders.names("configmaps"))
