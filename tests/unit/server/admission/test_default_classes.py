"""Claims and Ingresses get the class that is everybody's, and claims grow only if theirs says so."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, Told, running

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
DEFAULT, OLD_DEFAULT = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"


async def make_storage(house: House, name: str, annotation: str = "", **fields: Any) -> None:
    meta = {"name": name, "annotations": {annotation: "true"} if annotation else {}}
    assert (await house.ask("POST", STORAGE, {"metadata": meta, "provisioner": "example.com/p", **fields})).code == 201


async def make_claim(house: House, name: str = "c", *, notes: Any = None, query: Any = None, **spec: Any) -> Told:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return await house.ask("POST", CLAIMS, {"metadata": {"name": name, "annotations": notes or {}}, "spec": asked}, query=query)


def class_of(told: Told) -> Any:
    assert told.code == 201, told.body
    return told.json["spec"].get("storageClassName")


async def test_claim_got_its_class_only_after_its_create_was_answered() -> None:
    async with running() as house:
        assert class_of(await make_claim(house, "before")) is None
        await make_storage(house, "usual", DEFAULT)
        await make_storage(house, "other")
        made = await make_claim(house)
        assert class_of(made) == "usual"
        assert "f:storageClassName" not in made.json["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
        assert class_of(await make_claim(house, "dry", query={"dryRun": "All"})) == "usual"


async def test_claim_that_says_its_class_keeps_it() -> None:
    async with running() as house:
        await make_storage(house, "usual", DEFAULT)
        assert class_of(await make_claim(house, "a", storageClassName="")) == ""
        assert class_of(await make_claim(house, "b", storageClassName="other")) == "other"
        assert class_of(await make_claim(house, "c", notes={"volume.beta.kubernetes.io/storage-class": "old"})) is None


async def test_of_several_default_classes_the_newest_counts_and_then_the_first_name() -> None:
    async with running() as house:
        for name in ("b", "a"):
            await make_storage(house, name, OLD_DEFAULT)
        stamps = [(await house.ask("GET", f"{STORAGE}/{name}")).json["metadata"]["creationTimestamp"] for name in "ab"]
        newest = "a" if stamps[0] >= stamps[1] else "b"
        assert class_of(await make_claim(house, "x")) == newest
        await house.ask("DELETE", f"{STORAGE}/a")
        assert class_of(await make_claim(house, "y")) == "b"
        await house.ask("DELETE", f"{STORAGE}/b")
        assert class_of(await make_claim(house, "z")) is None


async def make_ingress(house: House, name: str, notes: Any = None, **spec: Any) -> Any:
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    told = await house.ask("POST", INGRESSES, {"metadata": {"name": name, "annotations": notes or {}}, "spec": {**backend, **spec}})
    assert told.code == 201, told.body
    return told.json["spec"].get("ingressClassName")


async def test_ingress_that_names_no_class_gets_the_one_that_is_everybodys() -> None:
    async with running() as house:
        assert await make_ingress(house, "before") is None
        meta = {"name": "usual", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
        assert (await house.ask("POST", INGRESS_CLASSES, {"metadata": meta, "spec": {"controller": "example.com/c"}})).code == 201
        assert await make_ingress(house, "a") == "usual"
        assert await make_ingress(house, "b", ingressClassName="own") == "own"
        assert await make_ingress(house, "c", {"kubernetes.io/ingress.class": "old"}) is None


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
    async with running() as house:
        if fields is not None:
            await make_storage(house, "fast", **fields)
        await make_claim(house, storageClassName="fast", volumeName="v")
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await house.ask("PATCH", f"{CLAIMS}/c/status", bound, media="application/merge-patch+json")
        more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        asked = await house.ask("PATCH", f"{CLAIMS}/c", more, media="application/merge-patch+json")
        assert asked.code == code, asked.body
        label = await house.ask("PATCH", f"{CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}}, media="application/merge-patch+json")
        assert label.code == 200
