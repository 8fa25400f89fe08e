"""Each write runs both admission phases once, with its own operation and kind. The plugins here are test plugins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.client.objects import Client, GroupVersionResource
from probate.core import errors
from probate.server.admission.admission_attributes import Attributes, CommitRequirements
from probate.server.admission.chain import PluginOrder
from probate.server.local_transport import LocalTransport
from probate.server.request import Target
from probate.store.contract import Absent
from support.in_process_server import InProcessServer, running

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
LABELS = {"matchLabels": {"a": "b"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
DEPLOYMENT = {"metadata": {"name": "d"}, "spec": {"selector": LABELS, "template": TEMPLATE}}


class RecordingPlugin:
    """Records the writes that it sees, and changes or refuses them as the test says."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []
        self.writes: list[Attributes] = []
        self.change: Callable[[Any], Any] | None = None
        self.refusal: errors.ApiError | None = None
        self.requirements = CommitRequirements()

    def handles(self, operation: str, at: Target) -> bool:
        return True

    async def mutate(self, write: Attributes) -> None:
        self._note("mutate", write)
        if self.change is not None and write.object is not None:
            write.replace_object(self.change(write.object))

    async def validate(self, write: Attributes) -> CommitRequirements:
        self._note("validate", write)
        if self.refusal is not None:
            raise self.refusal
        return self.requirements

    def _note(self, phase: str, write: Attributes) -> None:
        part = f"/{write.at.subresource}" if write.at.subresource else ""
        self.seen.append((phase, write.operation, f"{write.at.resource.plural}{part}"))
        self.writes.append(write)


@asynccontextmanager
async def running_with_plugin() -> AsyncGenerator[tuple[InProcessServer, RecordingPlugin], None]:
    async with running(collects=False) as server:
        plugin = RecordingPlugin()
        server.api.admission.chain.enable(PluginOrder.MUTATING_POLICIES, plugin)
        yield server, plugin


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


@pytest.mark.parametrize(("_name", "requests", "operation", "what"), WRITES, ids=[item[0] for item in WRITES])
async def test_each_write_runs_both_phases_once(_name: str, requests: Any, operation: str, what: str) -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        await server.create("pods", "default", POD)
        await server.create("apis/apps/v1/deployments", "default", DEPLOYMENT)
        plugin.seen.clear()
        for method, path, body, media in requests:
            query = {"fieldManager": "me"} if path.endswith("?") else None
            response = await server.request(method, path.rstrip("?"), body, media=media or "application/json", query=query)
            assert response.code < 300, response.body
        assert plugin.seen == both(operation, what)


async def test_reads_run_no_plugins() -> None:
    async with running_with_plugin() as (server, plugin):
        await server.request("GET", MAPS)
        await server.request("GET", f"{MAPS}/m")
        assert plugin.seen == []


async def test_writes_of_controllers_run_the_plugins() -> None:
    async with running_with_plugin() as (server, plugin):
        await Client(LocalTransport(server.api)).create(
            GroupVersionResource("", "v1", "configmaps"), "default", {"metadata": {"name": "m"}}
        )
        assert plugin.seen == both("CREATE", "configmaps")
        assert plugin.writes[0].request.user.name == "system:probate"


async def test_mutated_fields_get_defaults_and_validation_and_no_manager() -> None:
    def add(pod: Any) -> Any:
        pod["spec"]["containers"].append({"name": "sidecar", "image": "i"})
        return pod

    async with running_with_plugin() as (server, plugin):
        plugin.change = add
        created = await server.create("pods", "default", POD)
        assert [item["name"] for item in created["spec"]["containers"]] == ["c", "sidecar"]
        assert created["spec"]["containers"][1]["terminationMessagePath"] == "/dev/termination-log"
        assert "sidecar" not in str(created["metadata"]["managedFields"])
        validated = plugin.writes[1].object
        assert validated is not None
        assert validated["metadata"]["uid"] == created["metadata"]["uid"]
        plugin.change = lambda pod: {**pod, "spec": {**pod["spec"], "restartPolicy": "Sometimes"}}
        response = await server.request("POST", PODS, {**POD, "metadata": {"name": "q"}})
        assert response.code == 422
        assert "restartPolicy" in response.json["message"]


async def test_update_is_validated_after_mutation() -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        plugin.change = lambda map_: {**map_, "data": {"good": "x"}}
        response = await server.request("PATCH", f"{MAPS}/m", {"data": {"b a d": "x"}}, media=MERGE)
        assert (response.code, response.json["data"]) == (200, {"good": "x"})
        plugin.change = lambda map_: {**map_, "data": {"b a d": "x"}}
        assert (await server.request("PATCH", f"{MAPS}/m", {"data": {"also": "good"}}, media=MERGE)).code == 422


async def test_mutation_of_an_update_cannot_change_immutable_metadata() -> None:
    def meddle(map_: Any) -> Any:
        map_["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "resourceVersion": "1", "labels": {"l": "m"}}
        return map_

    async with running_with_plugin() as (server, plugin):
        created = await server.create("configmaps", "default", {"metadata": {"name": "m"}, "data": {"c": "d"}})
        plugin.change = meddle
        response = await server.request("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert response.code == 200, response.body
        assert response.json["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
        assert response.json["metadata"]["labels"] == {"l": "m"}
        assert "f:labels" not in str(response.json["metadata"]["managedFields"])


@pytest.mark.parametrize("change", [{"name": "other"}, {"uid": "other"}])
async def test_mutation_cannot_change_the_identity(change: dict[str, str]) -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        plugin.change = lambda map_: {**map_, "metadata": {**map_["metadata"], **change}}
        response = await server.request("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert response.code == 400
        assert (await server.request("GET", f"{MAPS}/m")).json.get("data") is None


async def test_a_new_object_cannot_be_moved_to_another_namespace() -> None:
    async with running_with_plugin() as (server, plugin):
        plugin.change = lambda map_: {**map_, "metadata": {**map_["metadata"], "namespace": "kube-system"}}
        assert (await server.request("POST", MAPS, {"metadata": {"name": "m"}})).code == 400


async def test_a_refusal_changes_nothing() -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        before = (await server.request("GET", f"{MAPS}/m")).body
        plugin.refusal = errors.Forbidden("no")
        assert (await server.request("POST", MAPS, {"metadata": {"name": "x"}})).code == 403
        assert (await server.request("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)).code == 403
        assert (await server.request("DELETE", f"{MAPS}/m")).code == 403
        assert (await server.request("DELETE", MAPS)).code == 403
        assert (await server.request("GET", f"{MAPS}/m")).body == before
        assert (await server.request("GET", f"{MAPS}/x")).code == 404


async def test_plugins_see_the_options_of_the_request() -> None:
    async with running_with_plugin() as (server, plugin):
        asked = {"dryRun": "All", "fieldManager": "me", "fieldValidation": "Strict"}
        await server.request("POST", MAPS, {"metadata": {"generateName": "m-"}}, query=asked)
        first, second = plugin.writes
        assert (first.name, second.name) == ("", "")
        assert first.object is not None
        assert "uid" not in first.object["metadata"]
        assert second.object is not None
        assert second.object["metadata"]["name"].startswith("m-")
        text = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]}
        assert first.options == {**text, "fieldManager": "me", "fieldValidation": "Strict"}
        assert first.request.is_dry_run
        assert first.request.user.name == "system:unsecured"


async def test_plugins_see_and_change_a_scale() -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("apis/apps/v1/deployments", "default", DEPLOYMENT)
        plugin.writes.clear()
        plugin.change = lambda scale: {**scale, "spec": {"replicas": 5}}
        response = await server.request("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, media=MERGE)
        assert response.json["spec"] == {"replicas": 5}
        assert plugin.writes[1].kind == ("autoscaling", "v1", "Scale")
        assert plugin.writes[1].object is not None
        assert plugin.writes[1].object["kind"] == "Scale"
        assert plugin.writes[1].old is not None
        assert plugin.writes[1].old["spec"] == {"replicas": 1}


@pytest.mark.parametrize(
    ("part", "body", "kind"),
    [
        ("binding", {"target": {"name": "n"}}, ("", "v1", "Binding")),
        ("eviction", {"metadata": {"name": "p"}}, ("policy", "v1", "Eviction")),
    ],
)
async def test_plugins_see_commands_as_their_own_kinds(part: str, body: Any, kind: tuple[str, str, str]) -> None:
    async with running_with_plugin() as (server, plugin):
        await server.create("pods", "default", POD)
        plugin.writes.clear()
        assert (await server.request("POST", f"{PODS}/p/{part}", body)).code == 201
        [_, write] = plugin.writes
        assert (write.kind, write.name) == (kind, "p")
        assert write.object is not None
        assert (write.object["kind"], write.object["metadata"]["name"]) == (kind[2], "p")


async def test_warnings_are_sent_once() -> None:
    async with running_with_plugin() as (server, plugin):

        async def warn(write: Attributes) -> CommitRequirements:
            write.request.warn("careful", "careful")
            return CommitRequirements()

        plugin.validate = warn  # type: ignore[method-assign]
        response = await server.request("POST", MAPS, {"metadata": {"name": "m"}})
        assert response.headers["warning"] == '299 - "careful"'


async def test_commit_requirements_are_in_the_transaction_and_released() -> None:
    async with running_with_plugin() as (server, plugin):
        released: list[int] = []
        plugin.requirements = CommitRequirements(("terms/x",), (Absent("terms/x"),), (lambda: released.append(1),))
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert await server.store.read("terms/x") is not None
        assert (await server.request("POST", MAPS, {"metadata": {"name": "n"}})).code == 409
        assert len(released) == 9
        plugin.requirements = plugin.requirements._replace(guards=())
        await server.request("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, media=MERGE)
        assert len(released) == 10


async def test_plugin_is_reinvoked_if_later_ones_change_the_object() -> None:
    async with running_with_plugin() as (server, plugin):
        later = RecordingPlugin()

        async def change(write: Attributes) -> None:
            if not write.is_reinvocation and write.object is not None:
                write.replace_object({**write.object, "data": {"a": "b"}})
                write.needs_reinvocation = True

        later.mutate = change  # type: ignore[method-assign]
        server.api.admission.chain.enable(PluginOrder.MUTATING_WEBHOOKS, later)
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert [phase for phase, _, _ in plugin.seen] == ["mutate", "mutate", "validate"]


async def test_disabled_plugin_does_not_run() -> None:
    async with running_with_plugin() as (server, plugin):
        server.api.admission.chain.disable(PluginOrder.MUTATING_POLICIES)
        await server.create("configmaps", "default", {"metadata": {"name": "m"}})
        assert plugin.seen == []
        assert (server.api.admission.chain.mutators, server.api.admission.chain.validators) == ((), ())


async def test_deletes_of_the_collector_run_no_plugins() -> None:
    async with running() as server:
        plugin = RecordingPlugin()
        owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await server.create("configmaps", "default", {"metadata": {"name": "m", "ownerReferences": [reference]}})
        server.api.admission.chain.enable(PluginOrder.MUTATING_POLICIES, plugin)
        await server.request("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Background"})
        await server.wait_until_idle()
        assert (await server.request("GET", f"{MAPS}/m")).code == 404
        assert plugin.seen == both("DELETE", "configmaps")
