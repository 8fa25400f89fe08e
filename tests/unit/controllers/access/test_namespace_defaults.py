"""What every namespace has: a service account, and a certificate if there is one."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from probate.app.assembly import root_certificate
from probate.client.resources import NAMESPACES
from probate.controllers.access.namespace_defaults import ACCOUNTS, CONFIG_MAPS
from probate.controllers.runtime.context import Server
from probate.core import errors
from support.workload_cluster import Object, Stage, name_of, staged


async def accounts(stage: Stage, namespace: str) -> list[str]:
    return [name_of(one) for one in (await stage.client.list(ACCOUNTS, namespace)).items]


async def test_every_namespace_has_a_service_account() -> None:
    async with staged("serviceaccounts") as stage:
        assert await accounts(stage, "default") == ["default"]
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        assert await accounts(stage, "new") == ["default"]


async def test_service_account_that_is_deleted_comes_back() -> None:
    async with staged("serviceaccounts") as stage:
        before = await stage.get(ACCOUNTS, "default")
        await stage.delete(ACCOUNTS, "default")
        assert (await stage.get(ACCOUNTS, "default"))["metadata"]["uid"] != before["metadata"]["uid"]


async def test_service_account_does_not_come_back_in_a_namespace_that_is_deleted() -> None:
    async with staged("serviceaccounts") as stage:
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        await stage.client.delete(NAMESPACES, "", "new")
        await stage.client.delete(ACCOUNTS, "new", "default")
        await stage.settle()
        assert await accounts(stage, "new") == []


@asynccontextmanager
async def certified(certificate: str) -> AsyncGenerator[Stage, None]:
    """A server that has this certificate."""
    async with staged() as stage:
        stage.cluster.server = Server(certificate=certificate)
        async with stage.working("certificates"):
            yield stage


async def published(stage: Stage) -> Object:
    found: Object = (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"]
    return found


async def test_every_namespace_has_the_certificate() -> None:
    async with certified("PEM") as stage:
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        [made] = (await stage.client.list(CONFIG_MAPS, "new")).items
        assert (name_of(made), made["data"]) == ("kube-root-ca.crt", {"ca.crt": "PEM"})
        assert made["metadata"]["annotations"]["kubernetes.io/description"]


async def test_certificate_that_somebody_changes_or_deletes_comes_back() -> None:
    async with certified("PEM") as stage:
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "FORGED", "more": "x"}})
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": None})
        assert await published(stage) == {"ca.crt": "PEM"}
        await stage.delete(CONFIG_MAPS, "kube-root-ca.crt")
        assert await published(stage) == {"ca.crt": "PEM"}


async def test_every_namespace_has_the_config_map_without_a_certificate_too() -> None:
    async with certified("") as stage:
        assert await published(stage) == {"ca.crt": ""}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "FORGED"}})
        assert await published(stage) == {"ca.crt": ""}
        await stage.delete(CONFIG_MAPS, "kube-root-ca.crt")
        assert await published(stage) == {"ca.crt": ""}


async def authentication(stage: Stage) -> Object:
    found = await stage.client.get(CONFIG_MAPS, "kube-system", "extension-apiserver-authentication")
    assert found is not None
    data: Object = found.get("data") or {}
    return data


async def test_the_authorities_of_clients_are_published_and_put_back() -> None:
    bundles = ["PEM"]
    async with staged() as stage:
        stage.cluster.server = Server(client_authorities=lambda: bundles[-1])
        async with stage.working("certificates"):
            assert await authentication(stage) == {"client-ca-file": "PEM"}
            where = (CONFIG_MAPS, "kube-system", "extension-apiserver-authentication")
            await stage.client.patch(*where, {"data": {"client-ca-file": "FORGED", "requestheader-allowed-names": "[]"}})
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


async def test_a_server_that_knows_no_clients_publishes_no_authority_of_theirs() -> None:
    async with certified("") as stage:
        assert await authentication(stage) == {}


async def test_what_somebody_else_notes_on_the_certificate_stays_as_long_as_it_is_described() -> None:
    async with certified("PEM") as stage:
        key = "kubernetes.io/description"
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"metadata": {"annotations": {key: "mine", "more": "x"}}})
        assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["metadata"]["annotations"] == {key: "mine", "more": "x"}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"metadata": {"annotations": {key: None}}})
        notes = (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["metadata"]["annotations"]
        assert (bool(notes[key]), notes["more"]) == (True, "x")


async def test_certificate_of_a_server_that_has_another_now_is_put_right() -> None:
    async with staged() as stage:
        for certificate in ("OLD", "NEW"):
            stage.cluster.server = Server(certificate=certificate)
            async with stage.working("certificates"):
                assert await published(stage) == {"ca.crt": certificate}


async def test_certificate_does_not_come_back_in_a_namespace_that_is_deleted() -> None:
    async with certified("PEM") as stage:
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        await stage.client.delete(NAMESPACES, "", "new")
        await stage.settle()
        stage.cluster.line.asked.clear()
        await stage.client.delete(CONFIG_MAPS, "new", "kube-root-ca.crt")
        await stage.settle()
        assert stage.cluster.line.asked == [], "nobody tries to make it"
        assert (await stage.client.list(CONFIG_MAPS, "new")).items == []


async def test_config_maps_of_other_names_are_not_kept_in_memory() -> None:
    async with certified("PEM") as stage:
        tracemalloc.start()
        for number in range(50):
            await stage.client.create(CONFIG_MAPS, "default", {"metadata": {"name": f"n{number}"}, "data": {"k": "v" * 100_000}})
        await stage.settle()
        stage.cluster.events.clear()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2_000_000


def test_file_without_a_certificate_is_refused_with_what_to_do(tmp_path: Path) -> None:
    assert root_certificate("") == ""
    good, bad = tmp_path / "good.pem", tmp_path / "bad.pem"
    good.write_text("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
    bad.write_text("nothing of the kind")
    assert root_certificate(str(good)) == good.read_text()
    with pytest.raises(errors.CannotOpen, match="PEM"):
        root_certificate(str(bad))
    with pytest.raises(errors.CannotOpen, match="cannot be read"):
        root_certificate(str(tmp_path / "missing.pem"))
