"""Every write passes the chain, once in each phase, as what it is. The plugins here are of the tests' own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.client.objects import Client, Kind
from probate.core import errors
from probate.server.admission.attributes import Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.local_transport import Local
from probate.server.request import Target
from probate.store.contract import Absent
from support.in_process_server import House, running

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
LABELS = {"matchLabels": {"a": "b"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
DEPLOYMENT = {"metadata": {"name": "d"}, "spec": {"selector": LABELS, "template": TEMPLATE}}


class Clerk:
    """Notes what it sees, and does what the test wants."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []
        self.writes: list[Attributes] = []
        self.change: Callable[[Any], Any] | None = None
        self.refusal: errors.ApiError | None = None
        self.terms = Terms()

    def wants(self, operation: str, at: Target) -> bool:
        return True

    async def mutate(self, write: Attributes) -> None:
        self._note("mutate", write)
        if self.change is not None and write.object is not None:
            write.put(self.change(write.object))

    async def validate(self, write: Attributes) -> Terms:
        self._note("validate", write)
        if self.refusal is not None:
            raise self.refusal
        return self.terms

    def _note(self, phase: str, write: Attributes) -> None:
        part = f"/{write.at.subresource}" if write.at.subresource else ""
        self.seen.append((phase, write.operation, f"{write.at.resource.plural}{part}"))
        self.writes.append(write)


@asynccontextmanager
async def clerked() -> AsyncGenerator[tuple[House, Clerk], None]:
    async with running(collects=False) as house:
        clerk = Clerk()
        house.api.admission.wake(Place.MUTATING_POLICIES, clerk)
        yield house, clerk


def both(operation: str, what: str) -> list[tuple[str, str, str]]:
    return [("mutate", operation, what), ("validate", operation, what)]


WRITES: list[tuple[str, list[tuple[str, str, Any, str]], str, str]] = [
    ("create", [("POST", MAPS, {"metadata": {"name": "x"}}, "")], "CREATE", "configmaps"),
    ("update", [("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "b"}}, "")], "UPDATE", "configmaps"),
    ("patch", [("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, MERGE)], "UPDATE", "configmaps"),
    (
        "apply",
        [("PATCH", f"{MAPS}/m?", {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}, "application/apply-patch+yaml")],
        "UPDATE",
        "configmaps",
    ),
    (
        "apply of what is not there",
        [("PATCH", f"{MAPS}/n?", {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}, "application/apply-patch+yaml")],
        "CREATE",
        "configmaps",
    ),
    ("delete", [("DELETE", f"{MAPS}/m", None, "")], "DELETE", "configmaps"),
    ("deletecollection", [("DELETE", MAPS, None, "")], "DELETE", "configmaps"),
    ("status", [("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, MERGE)], "UPDATE", "pods/status"),
    ("binding", [("POST", f"{PODS}/p/binding", {"target": {"name": "n"}}, "")], "CREATE", "pods/binding"),
    ("eviction", [("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}, "")], "CREATE", "pods/eviction"),
    ("scale", [("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, MERGE)], "UPDATE", "deployments/scale"),
]


@pytest.mark.parametrize(("_name", "requests", "operation", "what"), WRITES, ids=[one[0] for one in WRITES])
async def test_each_way_of_writing_passes_both_phases_once(_name: str, requests: Any, operation: str, what: str) -> None:
    async with clerked() as (house, clerk):
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        await house.create("pods", "default", POD)
        await house.create("apis/apps/v1/deployments", "default", DEPLOYMENT)
        clerk.seen.clear()
        for method, path, body, media in requests:
            query = {"fieldManager": "me"} if path.endswith("?") else None
            told = await house.ask(method, path.rstrip("?"), body, media=media or "application/json", query=query)
            assert told.code < 300, told.body
        assert clerk.seen == both(operation, what)


async def test_reads_pass_nobody() -> None:
    async with clerked() as (house, clerk):
        await house.ask("GET", MAPS)
        await house.ask("GET", f"{MAPS}/m")
        assert clerk.seen == []


async def test_a_controllers_writes_in_process_pass_too() -> None:
    async with clerked() as (house, clerk):
        await Client(Local(house.api)).create(Kind("", "v1", "configmaps"), "default", {"metadata": {"name": "m"}})
        assert clerk.seen == both("CREATE", "configmaps")
        assert clerk.writes[0].act.user.name == "system:probate"


async def test_what_was_added_gets_defaults_and_is_checked_and_is_nobodys() -> None:
    def add(pod: Any) -> Any:
        pod["spec"]["containers"].append({"name": "sidecar", "image": "i"})
        return pod

    async with clerked() as (house, clerk):
        clerk.change = add
        made = await house.create("pods", "default", POD)
        assert [one["name"] for one in made["spec"]["containers"]] == ["c", "sidecar"]
        assert made["spec"]["containers"][1]["terminationMessagePath"] == "/dev/termination-log"
        assert "sidecar" not in str(made["metadata"]["managedFields"])
        validated = clerk.writes[1].object
        assert validated is not None
        assert validated["metadata"]["uid"] == made["metadata"]["uid"]
        clerk.change = lambda pod: {**pod, "spec": {**pod["spec"], "restartPolicy": "Sometimes"}}
        told = await house.ask("POST", PODS, {**POD, "metadata": {"name": "q"}})
        assert told.code == 422
        assert "restartPolicy" in told.json["message"]


async def test_an_update_is_checked_as_what_has_become_of_it() -> None:
    async with clerked() as (house, clerk):
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        clerk.change = lambda map_: {**map_, "data": {"good": "x"}}
        told = await house.ask("PATCH", f"{MAPS}/m", {"data": {"b a d": "x"}}, media=MERGE)
        assert (told.code, told.json["data"]) == (200, {"good": "x"})
        clerk.change = lambda map_: {**map_, "data": {"b a d": "x"}}
        assert (await house.ask("PATCH", f"{MAPS}/m", {"data": {"also": "good"}}, media=MERGE)).code == 422


async def test_a_mutation_of_an_update_keeps_what_updates_keep() -> None:
    def meddle(map_: Any) -> Any:
        map_["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "resourceVersion": "1", "labels": {"l": "m"}}
        return map_

    async with clerked() as (house, clerk):
        made = await house.create("configmaps", "default", {"metadata": {"name": "m"}, "data": {"c": "d"}})
        clerk.change = meddle
        told = await house.ask("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert told.code == 200, told.body
        assert told.json["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
        assert told.json["metadata"]["labels"] == {"l": "m"}
        assert "f:labels" not in str(told.json["metadata"]["managedFields"])


@pytest.mark.parametrize("change", [{"name": "other"}, {"uid": "other"}])
async def test_a_mutation_that_makes_it_another_object_is_refused(change: dict[str, str]) -> None:
    async with clerked() as (house, clerk):
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        clerk.change = lambda map_: {**map_, "metadata": {**map_["metadata"], **change}}
        told = await house.ask("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert told.code == 400
        assert (await house.ask("GET", f"{MAPS}/m")).json.get("data") is None


async def test_a_new_object_cannot_be_moved_to_another_namespace() -> None:
    async with clerked() as (house, clerk):
        clerk.change = lambda map_: {**map_, "metadata": {**map_["metadata"], "namespace": "kube-system"}}
        assert (await house.ask("POST", MAPS, {"metadata": {"name": "m"}})).code == 400


async def test_a_refusal_changes_nothing() -> None:
    async with clerked() as (house, clerk):
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        before = (await house.ask("GET", f"{MAPS}/m")).body
        clerk.refusal = errors.Forbidden("no")
        assert (await house.ask("POST", MAPS, {"metadata": {"name": "x"}})).code == 403
        assert (await house.ask("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)).code == 403
        assert (await house.ask("DELETE", f"{MAPS}/m")).code == 403
        assert (await house.ask("DELETE", MAPS)).code == 403
        assert (await house.ask("GET", f"{MAPS}/m")).body == before
        assert (await house.ask("GET", f"{MAPS}/x")).code == 404


async def test_what_the_request_said_is_told_as_it_was_meant() -> None:
    async with clerked() as (house, clerk):
        asked = {"dryRun": "All", "fieldManager": "me", "fieldValidation": "Strict"}
        await house.ask("POST", MAPS, {"metadata": {"generateName": "m-"}}, query=asked)
        first, second = clerk.writes
        assert (first.name, second.name) == ("", "")
        assert first.object is not None
        assert "uid" not in first.object["metadata"]
        assert second.object is not None
        assert second.object["metadata"]["name"].startswith("m-")
        said = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]}
        assert first.options == {**said, "fieldManager": "me", "fieldValidation": "Strict"}
        assert first.act.is_dry_run
        assert first.act.user.name == "system:unsecured"


async def test_a_scale_is_shown_as_a_scale_and_can_be_changed() -> None:
    async with clerked() as (house, clerk):
        await house.create("apis/apps/v1/deployments", "default", DEPLOYMENT)
        clerk.writes.clear()
        clerk.change = lambda scale: {**scale, "spec": {"replicas": 5}}
        told = await house.ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, media=MERGE)
        assert told.json["spec"] == {"replicas": 5}
        assert clerk.writes[1].kind == ("autoscaling", "v1", "Scale")
        assert clerk.writes[1].object is not None
        assert clerk.writes[1].object["kind"] == "Scale"
        assert clerk.writes[1].old is not None
        assert clerk.writes[1].old["spec"] == {"replicas": 1}


@pytest.mark.parametrize(
    ("part", "body", "kind"),
    [
        ("binding", {"target": {"name": "n"}}, ("", "v1", "Binding")),
        ("eviction", {"metadata": {"name": "p"}}, ("policy", "v1", "Eviction")),
    ],
)
async def test_a_command_is_shown_as_what_it_is(part: str, body: Any, kind: tuple[str, str, str]) -> None:
    async with clerked() as (house, clerk):
        await house.create("pods", "default", POD)
        clerk.writes.clear()
        assert (await house.ask("POST", f"{PODS}/p/{part}", body)).code == 201
        [_, write] = clerk.writes
        assert (write.kind, write.name) == (kind, "p")
        assert write.object is not None
        assert (write.object["kind"], write.object["metadata"]["name"]) == (kind[2], "p")


async def test_warnings_are_told_once() -> None:
    async with clerked() as (house, clerk):

        async def warn(write: Attributes) -> Terms:
            write.act.warn("careful", "careful")
            return Terms()

        clerk.validate = warn  # type: ignore[method-assign]
        told = await house.ask("POST", MAPS, {"metadata": {"name": "m"}})
        assert told.headers["warning"] == '299 - "careful"'


async def test_the_terms_of_a_write_are_in_its_transaction_and_are_released() -> None:
    async with clerked() as (house, clerk):
        released: list[int] = []
        clerk.terms = Terms(("terms/x",), (Absent("terms/x"),), (lambda: released.append(1),))
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert await house.store.read("terms/x") is not None
        assert (await house.ask("POST", MAPS, {"metadata": {"name": "n"}})).code == 409
        assert len(released) == 9
        clerk.terms = clerk.terms._replace(guards=())
        await house.ask("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert len(released) == 10


async def test_a_plugin_is_asked_again_if_later_ones_change_what_it_has_seen() -> None:
    async with clerked() as (house, clerk):
        later = Clerk()

        async def change(write: Attributes) -> None:
            if not write.is_again and write.object is not None:
                write.put({**write.object, "data": {"a": "b"}})
                write.wants_again = True

        later.mutate = change  # type: ignore[method-assign]
        house.api.admission.wake(Place.MUTATING_WEBHOOKS, later)
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert [phase for phase, _, _ in clerk.seen] == ["mutate", "mutate", "validate"]


async def test_who_rests_is_not_asked() -> None:
    async with clerked() as (house, clerk):
        house.api.admission.rest(Place.MUTATING_POLICIES)
        await house.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert clerk.seen == []
        assert (house.api.admission.mutators, house.api.admission.validators) == ((), ())


async def test_what_the_collector_deletes_passes_nobody() -> None:
    async with running() as house:
        clerk = Clerk()
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await house.create("configmaps", "default", {"metadata": {"name": "m", "ownerReferences": [reference]}})
        house.api.admission.wake(Place.MUTATING_POLICIES, clerk)
        await house.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Background"})
        await house.rest()
        assert (await house.ask("GET", f"{MAPS}/m")).code == 404
        assert clerk.seen == both("DELETE", "configmaps")
