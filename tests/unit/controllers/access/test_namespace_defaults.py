"""The default objects of every namespace: a service account, and a ConfigMap with the root certificate."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from probate.api.objects import Object
from probate.app.assembly import read_root_certificate
from probate.client.resources import NAMESPACES
from probate.controllers.access.namespace_defaults import CONFIG_MAPS, SERVICE_ACCOUNTS
from probate.controllers.runtime.context import Server
from probate.core import errors
from support.workload_cluster import WorkloadCluster, name_of, workload_cluster


async def accounts(stage: WorkloadCluster, namespace: str) -> list[str]:
    return [name_of(one) for one in (await stage.client.list(SERVICE_ACCOUNTS, namespace)).items]


async def test_every_namespace_has_a_service_account() -> None:
    async with workload_cluster("serviceaccounts") as stage:
        assert await accounts(stage, "default") == ["default"]
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        assert await accounts(stage, "new") == ["default"]


async def test_deleted_service_account_is_created_again() -> None:
    async with workload_cluster("serviceaccounts") as stage:
        before = await stage.get(SERVICE_ACCOUNTS, "default")
        await stage.delete(SERVICE_ACCOUNTS, "default")
        assert (await stage.get(SERVICE_ACCOUNTS, "default"))["metadata"]["uid"] != before["metadata"]["uid"]


async def test_service_account_is_not_created_in_a_deleting_namespace() -> None:
    async with workload_cluster("serviceaccounts") as stage:
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        await stage.client.delete(NAMESPACES, "", "new")
        await stage.client.delete(SERVICE_ACCOUNTS, "new", "default")
        await stage.settle()
        assert await accounts(stage, "new") == []


@asynccontextmanager
async def server_with_certificate(certificate: str) -> AsyncGenerator[WorkloadCluster, None]:
    """Runs a server with this certificate."""
    async with workload_cluster() as stage:
        stage.server.server = Server(certificate=certificate)
        async with stage.controllers_running("certificates"):
            yield stage


async def published(stage: WorkloadCluster) -> Object:
    found: Object = (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"]
    return found


async def test_every_namespace_has_the_certificate() -> None:
    async with server_with_certificate("PEM") as stage:
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        [made] = (await stage.client.list(CONFIG_MAPS, "new")).items
        assert (name_of(made), made["data"]) == ("kube-root-ca.crt", {"ca.crt": "PEM"})
        assert made["metadata"]["annotations"]["kubernetes.io/description"]


async def test_changed_or_deleted_certificate_is_restored() -> None:
    async with server_with_certificate("PEM") as stage:
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "FORGED", "more": "x"}})
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": None})
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.delete(CONFIG_MAPS, "kube-root-ca.crt")
        assert await published(stage) == {"ca.crt": "PEM"}


async def test_every_namespace_has_the_config_map_also_without_a_certificate() -> None:
    async with server_with_certificate("") as stage:
        assert await published(stage) == {"ca.crt": ""}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "FORGED"}})
        assert await published(stage) == {"ca.crt": ""}
        await stage.delete(CONFIG_MAPS, "kube-root-ca.crt")
        assert await published(stage) == {"ca.crt": ""}


async def authentication(stage: WorkloadCluster) -> Object:
    found = await stage.client.get(CONFIG_MAPS, "kube-system", "extension-apiserver-authentication")
    assert found is not None
    data: Object = found.get("data") or {}
    return data


async def test_client_authorities_are_published_and_restored() -> None:
    bundles = ["PEM"]
    async with workload_cluster() as stage:
        stage.server.server = Server(client_authorities=lambda: bundles[-1])
        async with stage.controllers_running("certificates"):
            assert await authentication(stage) == {"client-ca-file": "PEM"}
            where = (CONFIG_MAPS, "kube-system", "extension-apiserver-authentication")
            await stage.client.patch(*where, change={"data": {"client-ca-file": "FORGED", "requestheader-allowed-names": "[]"}})
            await stage.settle()
            assert await authentication(stage) == {"client-ca-file": "PEM"}
            await stage.client.delete(*where)
            await stage.settle()
            assert await authentication(stage) == {"client-ca-file": "PEM"}
            bundles.append("NEW")
            await stage.pass_time(60)
            assert await authentication(stage) == {"client-ca-file": "NEW"}
            found = await stage.client.list(CONFIG_MAPS, "default")
            assert [name_of(one) for one in found.items] == ["kube-root-ca.crt"]


async def test_a_server_without_client_authorities_publishes_none() -> None:
    async with server_with_certificate("") as stage:
        assert await authentication(stage) == {}


async def test_other_annotations_stay_as_long_as_the_description_does() -> None:
    async with server_with_certificate("PEM") as stage:
        key = "kubernetes.io/description"
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"metadata": {"annotations": {key: "mine", "more": "x"}}})
        assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["metadata"]["annotations"] == {key: "mine", "more": "x"}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"metadata": {"annotations": {key: None}}})
        notes = (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["metadata"]["annotations"]
        assert (bool(notes[key]), notes["more"]) == (True, "x")


async def test_bundle_is_updated_when_the_server_has_another_certificate() -> None:
    async with workload_cluster() as stage:
        for certificate in ("OLD", "NEW"):
            stage.server.server = Server(certificate=certificate)
            async with stage.controllers_running("certificates"):
                assert await published(stage) == {"ca.crt": certificate}


async def test_certificate_is_not_created_in_a_deleting_namespace() -> None:
    async with server_with_certificate("PEM") as stage:
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        await stage.client.delete(NAMESPACES, "", "new")
        await stage.settle()
        stage.server.line.requests.clear()
        await stage.client.delete(CONFIG_MAPS, "new", "kube-root-ca.crt")
        await stage.settle()
        assert stage.server.line.requests == [], "nobody tries to make it"
        assert (await stage.client.list(CONFIG_MAPS, "new")).items == []


async def test_config_maps_of_other_names_are_not_cached() -> None:
    async with server_with_certificate("PEM") as stage:
        tracemalloc.start()
        for number in range(50):
            await stage.client.create(CONFIG_MAPS, "default", {"metadata": {"name": f"n{number}"}, "data": {"k": "v" * 100_000}})
        await stage.settle()
        stage.server.events.clear()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2_000_000


def test_file_without_a_certificate_is_refused_with_a_hint(tmp_path: Path) -> None:
    assert read_root_certificate("") == ""
    good, bad = tmp_path / "good.pem", tmp_path / "bad.pem"
    good.write_text("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
    bad.write_text("nothing of the kind")
    assert read_root_certificate(str(good)) == good.read_text()
    with pytest.raises(errors.CannotOpen, match="PEM"):
        read_root_certificate(str(bad))
    with pytest.raises(errors.CannotOpen, match="cannot be read"):
        read_root_certificate(str(tmp_path / "missing.pem"))
