"""The ServiceAccount admission plugin: pods get an account, its token and its image pull secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, InProcessServer, Response, running

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MIRROR = {"kubernetes.io/config.mirror": "1"}
STRICT = {"kubernetes.io/enforce-mountable-secrets": "true"}
FROM_SECRET = {"name": "v", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(admission=["ServiceAccount"]) as item:
        yield item


async def make_account(server: InProcessServer, name: str = "default", notes: Any = None, **fields: Any) -> None:
    body = {"metadata": {"name": name, "annotations": notes or {}}, **fields}
    assert (await server.request("POST", ACCOUNTS, body)).code == 201


async def make_pod(server: InProcessServer, notes: Any = None, container: Any = None, **spec: Any) -> Response:
    spec = {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}
    return await server.request("POST", PODS, {"metadata": {"name": "p", "annotations": notes or {}}, "spec": spec})


def spec_of(response: Response) -> Any:
    assert response.code == 201, response.body
    return response.json["spec"]


async def test_pod_gets_the_default_account_and_its_token(server: InProcessServer) -> None:
    await make_account(server)
    response = await make_pod(server, initContainers=[{"name": "i", "image": "i"}])
    spec = spec_of(response)
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
    assert [item["volumeMounts"] for item in (*spec["containers"], *spec["initContainers"])] == [[mount]] * 2
    [entry] = response.json["metadata"]["managedFields"]
    assert not {"f:volumes", "f:serviceAccount", "f:serviceAccountName"} & entry["fieldsV1"]["f:spec"].keys()


async def test_plugin_is_off_by_default() -> None:
    async with running() as server:
        assert "serviceAccountName" not in spec_of(await make_pod(server))


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
async def test_automount_setting_of_pod_and_account(
    server: InProcessServer, account: bool | None, pod: bool | None, is_mounted: bool
) -> None:
    await make_account(server, automountServiceAccountToken=account)
    spec = spec_of(await make_pod(server, automountServiceAccountToken=pod))
    assert bool(spec["containers"][0].get("volumeMounts")) is is_mounted
    assert bool(spec.get("volumes")) is is_mounted


async def test_existing_mount_and_volume_are_kept(server: InProcessServer) -> None:
    await make_account(server)
    own = {"volumeMounts": [{"name": "own", "mountPath": PATH}]}
    spec = spec_of(await make_pod(server, container=own, volumes=[{"name": "own", "emptyDir": {}}]))
    assert [item["name"] for item in spec["volumes"]] == ["own"]
    await server.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    spec = spec_of(await make_pod(server, volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}]))
    assert [item["name"] for item in spec["volumes"]] == ["kube-api-access-mine"]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


async def test_image_pull_secrets_of_the_account_apply_unless_the_pod_has_some(server: InProcessServer) -> None:
    await make_account(server, "robot", imagePullSecrets=[{"name": "registry"}])
    assert spec_of(await make_pod(server, serviceAccountName="robot"))["imagePullSecrets"] == [{"name": "registry"}]
    await server.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    own = await make_pod(server, serviceAccountName="robot", imagePullSecrets=[{"name": "own"}])
    assert spec_of(own)["imagePullSecrets"] == [{"name": "own"}]


async def test_pod_with_a_missing_account_is_refused(server: InProcessServer) -> None:
    refused = await make_pod(server, serviceAccountName="robot")
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert 'error looking up service account default/robot: serviceaccount "robot" not found' in refused.json["message"]


async def test_pod_waits_for_the_default_account() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False, admission=["ServiceAccount"]) as server:
        waiting = asyncio.create_task(make_pod(server))
        await clock.advance(0.5)
        assert not waiting.done()
        await make_account(server)
        await clock.advance(0.5)
        assert spec_of(await waiting)["serviceAccountName"] == "default"
        await server.request("DELETE", f"{ACCOUNTS}/default")
        waiting = asyncio.create_task(make_pod(server))
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
async def test_pod_may_use_only_the_secrets_that_a_strict_account_names(
    server: InProcessServer, pod: dict[str, Any], why: str
) -> None:
    await make_account(server, notes=STRICT)
    refused = await make_pod(server, **pod)
    assert refused.code == 403
    assert f"{why}" in refused.json["message"]
    assert "is not allowed because service account default does not reference that" in refused.json["message"]
    await make_account(server, "open", secrets=[{"name": "s"}], imagePullSecrets=[{"name": "s"}], notes=STRICT)
    assert (await make_pod(server, **pod, serviceAccountName="open")).code == 201


async def test_ephemeral_container_is_limited_to_the_accounts_secrets(server: InProcessServer) -> None:
    await make_account(server, notes=STRICT)
    assert (await make_pod(server)).code == 201
    added = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i", "env": [FROM_SECRET]}]}}
    media = "application/strategic-merge-patch+json"
    refused = await server.request("PATCH", f"{PODS}/p/ephemeralcontainers", added, media=media)
    assert refused.code == 403
    assert "ephemeral container e with envVar v" in refused.json["message"]
    plain = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}
    assert (await server.request("PATCH", f"{PODS}/p/ephemeralcontainers", plain, media=media)).code == 200


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
async def test_mirror_pod_gets_no_account(server: InProcessServer, pod: dict[str, Any], why: str) -> None:
    refused = await make_pod(server, MIRROR, nodeName="n", **pod)
    assert refused.code == 403
    assert why in refused.json["message"]
    assert not {"volumes", "serviceAccountName"} & spec_of(await make_pod(server, MIRROR, nodeName="n")).keys()
