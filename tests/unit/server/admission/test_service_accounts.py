"""Pods get a service account, and what it has, if the plugin for that is on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, House, Told, running

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MIRROR = {"kubernetes.io/config.mirror": "1"}
STRICT = {"kubernetes.io/enforce-mountable-secrets": "true"}
FROM_SECRET = {"name": "v", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(admission=["ServiceAccount"]) as one:
        yield one


async def make_account(house: House, name: str = "default", notes: Any = None, **fields: Any) -> None:
    body = {"metadata": {"name": name, "annotations": notes or {}}, **fields}
    assert (await house.ask("POST", ACCOUNTS, body)).code == 201


async def make_pod(house: House, notes: Any = None, container: Any = None, **spec: Any) -> Told:
    spec = {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}
    return await house.ask("POST", PODS, {"metadata": {"name": "p", "annotations": notes or {}}, "spec": spec})


def spec_of(told: Told) -> Any:
    assert told.code == 201, told.body
    return told.json["spec"]


async def test_pod_gets_the_usual_account_and_its_token(house: House) -> None:
    await make_account(house)
    told = await make_pod(house, initContainers=[{"name": "i", "image": "i"}])
    spec = spec_of(told)
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert len(volume["name"]) == len("kube-api-access-") + 5
    assert volume["projected"] == {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
                }
            },
        ],
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
    assert [one["volumeMounts"] for one in (*spec["containers"], *spec["initContainers"])] == [[mount]] * 2
    [entry] = told.json["metadata"]["managedFields"]
    assert not {"f:volumes", "f:serviceAccount", "f:serviceAccountName"} & entry["fieldsV1"]["f:spec"].keys()


async def test_pods_of_a_server_that_was_not_told_so_run_as_nobody() -> None:
    async with running() as house:
        assert "serviceAccountName" not in spec_of(await make_pod(house))


@pytest.mark.parametrize(
    ("account", "pod", "is_mounted"),
    [
        (None, None, True),
        (None, True, True),
        (None, False, False),
        (True, None, True),
        (True, True, True),
        (True, False, False),
        (False, None, False),
        (False, True, True),
        (False, False, False),
    ],
)
async def test_token_is_mounted_unless_the_pod_or_else_its_account_says_no(
    house: House, account: bool | None, pod: bool | None, is_mounted: bool
) -> None:
    await make_account(house, automountServiceAccountToken=account)
    spec = spec_of(await make_pod(house, automountServiceAccountToken=pod))
    assert bool(spec["containers"][0].get("volumeMounts")) is is_mounted
    assert bool(spec.get("volumes")) is is_mounted


async def test_container_that_mounts_something_there_and_volume_of_that_name_are_left_alone(house: House) -> None:
    await make_account(house)
    own = {"volumeMounts": [{"name": "own", "mountPath": PATH}]}
    spec = spec_of(await make_pod(house, container=own, volumes=[{"name": "own", "emptyDir": {}}]))
    assert [one["name"] for one in spec["volumes"]] == ["own"]
    await house.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    spec = spec_of(await make_pod(house, volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}]))
    assert [one["name"] for one in spec["volumes"]] == ["kube-api-access-mine"]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


async def test_images_are_pulled_with_the_secrets_of_the_account_unless_the_pod_brings_some(house: House) -> None:
    await make_account(house, "robot", imagePullSecrets=[{"name": "registry"}])
    assert spec_of(await make_pod(house, serviceAccountName="robot"))["imagePullSecrets"] == [{"name": "registry"}]
    await house.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    own = await make_pod(house, serviceAccountName="robot", imagePullSecrets=[{"name": "own"}])
    assert spec_of(own)["imagePullSecrets"] == [{"name": "own"}]


async def test_pod_of_an_account_that_is_not_there_is_refused(house: House) -> None:
    refused = await make_pod(house, serviceAccountName="robot")
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert 'error looking up service account default/robot: serviceaccount "robot" not found' in refused.json["message"]


async def test_pod_waits_a_while_for_the_account_of_its_namespace() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False, admission=["ServiceAccount"]) as house:
        waiting = asyncio.create_task(make_pod(house))
        await clock.advance(0.5)
        assert not waiting.done()
        await make_account(house)
        await clock.advance(0.5)
        assert spec_of(await waiting)["serviceAccountName"] == "default"
        await house.ask("DELETE", f"{ACCOUNTS}/default")
        waiting = asyncio.create_task(make_pod(house))
        await clock.advance(5.0)
        assert (await waiting).code == 403


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        pytest.param({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, 'volume with secret.secretName="s"', id="volume"),
        pytest.param({"container": {"env": [FROM_SECRET]}}, "container c with envVar v", id="variable"),
        pytest.param({"container": {"envFrom": [{"secretRef": {"name": "s"}}]}}, "container c with envFrom", id="variables"),
        pytest.param(
            {"initContainers": [{"name": "i", "image": "i", "env": [FROM_SECRET]}]}, "init container i with envVar v", id="before"
        ),
        pytest.param({"imagePullSecrets": [{"name": "s"}]}, 'imagePullSecrets[0].name="s"', id="images"),
    ],
)
async def test_pod_may_use_only_the_secrets_that_a_strict_account_names(house: House, pod: dict[str, Any], why: str) -> None:
    await make_account(house, notes=STRICT)
    refused = await make_pod(house, **pod)
    assert refused.code == 403
    assert f"{why}" in refused.json["message"]
    assert "is not allowed because service account default does not reference that" in refused.json["message"]
    await make_account(house, "open", secrets=[{"name": "s"}], imagePullSecrets=[{"name": "s"}], notes=STRICT)
    assert (await make_pod(house, **pod, serviceAccountName="open")).code == 201


async def test_container_that_is_added_later_may_use_no_more_than_the_others(house: House) -> None:
    await make_account(house, notes=STRICT)
    assert (await make_pod(house)).code == 201
    added = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i", "env": [FROM_SECRET]}]}}
    media = "application/strategic-merge-patch+json"
    refused = await house.ask("PATCH", f"{PODS}/p/ephemeralcontainers", added, media=media)
    assert refused.code == 403
    assert "ephemeral container e with envVar v" in refused.json["message"]
    plain = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}
    assert (await house.ask("PATCH", f"{PODS}/p/ephemeralcontainers", plain, media=media)).code == 200


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        pytest.param({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts", id="account"),
        pytest.param({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "may not reference secrets", id="secret"),
        pytest.param({"imagePullSecrets": [{"name": "s"}]}, "may not reference secrets", id="images"),
        pytest.param({"container": {"env": [FROM_SECRET]}}, "may not reference secrets", id="variable"),
        pytest.param(
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "may not use ServiceAccountToken volume projections",
            id="token",
        ),
    ],
)
async def test_mirror_pod_gets_nothing_and_may_have_nothing_of_that(house: House, pod: dict[str, Any], why: str) -> None:
    refused = await make_pod(house, MIRROR, nodeName="n", **pod)
    assert refused.code == 403
    assert why in refused.json["message"]
    assert not {"volumes", "serviceAccountName"} & spec_of(await make_pod(house, MIRROR, nodeName="n")).keys()
