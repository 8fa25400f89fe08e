"""Claims and Ingresses get the default class, and claims grow only if their storage class allows it."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, Response, running

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
DEFAULT, OLD_DEFAULT = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"


async def make_storage(server: InProcessServer, name: str, annotation: str = "", **fields: Any) -> None:
    meta = {"name": name, "annotations": {annotation: "true"} if annotation else {}}
    assert (await server.request("POST", STORAGE, {"metadata": meta, "provisioner": "example.com/p", **fields})).code == 201


async def make_claim(server: InProcessServer, name: str = "c", *, notes: Any = None, query: Any = None, **spec: Any) -> Response:
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return await server.request(
        "POST", CLAIMS, {"metadata": {"name": name, "annotations": notes or {}}, "spec": request}, query=query
    )


def class_of(response: Response) -> Any:
    assert response.code == 201, response.body
    return response.json["spec"].get("storageClassName")


async def test_claim_got_its_class_only_after_its_create_was_answered() -> None:
    async with running() as server:
        assert class_of(await make_claim(server, "before")) is None
        await make_storage(server, "usual", DEFAULT)
        await make_storage(server, "other")
        created = await make_claim(server)
        assert class_of(created) == "usual"
        assert "f:storageClassName" not in created.json["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
        assert class_of(await make_claim(server, "dry", query={"dryRun": "All"})) == "usual"


async def test_claim_with_a_class_keeps_it() -> None:
    async with running() as server:
        await make_storage(server, "usual", DEFAULT)
        assert class_of(await make_claim(server, "a", storageClassName="")) == ""
        assert class_of(await make_claim(server, "b", storageClassName="other")) == "other"
        assert class_of(await make_claim(server, "c", notes={"volume.beta.kubernetes.io/storage-class": "old"})) is None


async def test_newest_default_class_wins_then_the_first_name() -> None:
    async with running() as server:
        for name in ("b", "a"):
            await make_storage(server, name, OLD_DEFAULT)
        stamps = [(await server.request("GET", f"{STORAGE}/{name}")).json["metadata"]["creationTimestamp"] for name in "ab"]
        newest = "a" if stamps[0] >= stamps[1] else "b"
        assert class_of(await make_claim(server, "x")) == newest
        await server.request("DELETE", f"{STORAGE}/a")
        assert class_of(await make_claim(server, "y")) == "b"
        await server.request("DELETE", f"{STORAGE}/b")
        assert class_of(await make_claim(server, "z")) is None


async def make_ingress(server: InProcessServer, name: str, notes: Any = None, **spec: Any) -> Any:
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    response = await server.request(
        "POST", INGRESSES, {"metadata": {"name": name, "annotations": notes or {}}, "spec": {**backend, **spec}}
    )
    assert response.code == 201, response.body
    return response.json["spec"].get("ingressClassName")


async def test_ingress_without_a_class_gets_the_default() -> None:
    async with running() as server:
        assert await make_ingress(server, "before") is None
        meta = {"name": "usual", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
        assert (
            await server.request("POST", INGRESS_CLASSES, {"metadata": meta, "spec": {"controller": "example.com/c"}})
        ).code == 201
        assert await make_ingress(server, "a") == "usual"
        assert await make_ingress(server, "b", ingressClassName="own") == "own"
        assert await make_ingress(server, "c", {"kubernetes.io/ingress.class": "old"}) is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({"allowVolumeExpansion": True}, 200, id="that grows"),
        pytest.param({"allowVolumeExpansion": False}, 403, id="that does not"),
        pytest.param({}, 403, id="that says nothing"),
        pytest.param(None, 403, id="that is not there"),
    ],
)
async def test_bound_claim_of_a_class(fields: dict[str, Any] | None, code: int) -> None:
    async with running() as server:
        if fields is not None:
            await make_storage(server, "fast", **fields)
        await make_claim(server, storageClassName="fast", volumeName="v")
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await server.request("PATCH", f"{CLAIMS}/c/status", bound, media="application/merge-patch+json")
        options = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        request = await server.request("PATCH", f"{CLAIMS}/c", options, media="application/merge-patch+json")
        assert request.code == code, request.body
        label = await server.request(
            "PATCH", f"{CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}}, media="application/merge-patch+json"
        )
        assert label.code == 200
