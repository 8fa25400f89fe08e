"""Abuse of controllers to delete without the right, or to stop them (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers import registry
from probate.controllers.access import service_account_tokens
from probate.core import errors
from probate.server.authn.authenticator import RequestAuthenticator
from support.attacker_requests import MERGE, PODS, SECRETS, deployment, pod, rbac_rule
from support.rbac_server import RbacCluster, rbac_cluster

BATCH = "/apis/batch/v1/namespaces/a"
SETS = "/apis/apps/v1/namespaces/a/replicasets"
HUGE, LARGE = 2**63 - 1, 2**31 - 1
FAR, NEVER = "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"
LABELS = {"app": "victim"}


async def code_of(cluster: RbacCluster, path: str) -> int:
    await cluster.settle()
    return (await cluster.request("GET", path)).code


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"template": template, "suspend": True, **spec}}


async def finish(cluster: RbacCluster, name: str, when: str) -> None:
    conditions = [{"type": item, "status": "True", "lastTransitionTime": when} for item in ("FailureTarget", "Failed")]
    status = {"status": {"startTime": when, "conditions": conditions}}
    assert (await cluster.request("PATCH", f"{BATCH}/jobs/{name}/status", status, media=MERGE)).code == 200


async def test_t24_running_job_is_not_deleted_by_its_ttl() -> None:
    async with rbac_cluster("finishedjobs") as cluster:
        await cluster.grant("eve", rbac_rule("get update patch", "jobs", group="batch"), namespace="a")
        for name in ("running", "over"):
            await cluster.create("apis/batch/v1/jobs", "a", job(name))
        await finish(cluster, "over", "2023-11-14T00:00:00Z")
        assert (await cluster.ask_as("eve", "DELETE", f"{BATCH}/jobs/over")).code == 403
        for name in ("running", "over"):
            change = {"spec": {"ttlSecondsAfterFinished": 0}}
            assert (await cluster.ask_as("eve", "PATCH", f"{BATCH}/jobs/{name}", body=change, media=MERGE)).code == 200
        assert await code_of(cluster, f"{BATCH}/jobs/running") == 200
        assert (
            await code_of(cluster, f"{BATCH}/jobs/over") == 404
        )  # as in Kubernetes: whether a Job is finished is up to users who may update it


async def test_t25_selector_adopts_no_controlled_or_foreign_pods() -> None:
    async with rbac_cluster("replicasets") as cluster:
        await cluster.grant("eve", rbac_rule("*", "replicasets", group="apps"), namespace="a")
        spec = {"replicas": 1, **deployment("victim")["spec"]}
        await cluster.create("apis/apps/v1/replicasets", "a", {"metadata": {"name": "victim"}, "spec": spec})
        await cluster.create("pods", "a", pod("lonely", meta={"labels": LABELS}))
        await cluster.create("pods", "b", pod("far", meta={"labels": LABELS}))
        await cluster.request("PATCH", f"{SETS}/victim", {"spec": {"replicas": 1}}, media=MERGE)
        await cluster.settle()
        owned = [item["metadata"]["name"] for item in (await cluster.request("GET", PODS)).json["items"]]
        thief = {"metadata": {"name": "thief"}, "spec": {**spec, "replicas": 0}}
        assert (await cluster.ask_as("eve", "POST", SETS, body=thief)).code == 201
        assert await code_of(cluster, "/api/v1/namespaces/b/pods/far") == 200
        left = [item["metadata"]["name"] for item in (await cluster.request("GET", PODS)).json["items"]]
        assert (
            left == owned
        )  # as in Kubernetes, the orphan pod was adopted by the first controller of its namespace that selects it


async def test_t25_creating_controllers_allows_adopting_orphan_pods() -> None:
    async with rbac_cluster("replicasets") as cluster:
        await cluster.grant(
            "eve", rbac_rule("create", "pods"), rbac_rule("get update patch", "replicasets", group="apps"), namespace="a"
        )
        await cluster.create("pods", "a", pod("lonely", meta={"labels": LABELS}))
        thief = {"metadata": {"name": "thief"}, "spec": {"replicas": 0, **deployment("victim")["spec"]}}
        assert (await cluster.ask_as("eve", "POST", SETS, body=thief)).code == 403
        assert await code_of(cluster, f"{PODS}/lonely") == 200


def volume(**spec: Any) -> Object:
    basics = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    return {"metadata": {"name": "v"}, "spec": {**basics, "persistentVolumeReclaimPolicy": "Delete", **spec}}


def claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
    return {"metadata": {"name": name}, "spec": {**spec, "storageClassName": ""}}


async def test_t26_volume_is_not_deleted_with_a_claim_of_another_namespace() -> None:
    async with rbac_cluster("volumes") as cluster:
        await cluster.grant("eve", rbac_rule("*", "persistentvolumeclaims"), namespace="b")
        reserved = {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "a", "name": "mine"}, "storageClassName": ""}
        await cluster.create("persistentvolumes", "", volume(**reserved))
        await cluster.create("persistentvolumeclaims", "a", claim("mine"))
        claims = "/api/v1/namespaces/b/persistentvolumeclaims"
        assert (await cluster.ask_as("eve", "POST", claims, body=claim("mine"))).code == 201
        await cluster.settle()
        assert (await cluster.request("GET", f"{claims}/mine")).json["status"].get("phase") != "Bound"
        await cluster.ask_as("eve", "DELETE", f"{claims}/mine")
        assert await code_of(cluster, "/api/v1/persistentvolumes/v") == 200


def extremes() -> list[tuple[str, str, Object, Object]]:
    """Returns resource, namespace, object and status: with the most extreme numbers and times that can be written."""
    forever: Object = {"tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": HUGE}]}
    lease = {"holderIdentity": "x", "leaseDurationSeconds": LARGE, "renewTime": "9999-12-31T23:59:59.999999Z"}
    ended = [{"type": item, "status": "True", "lastTransitionTime": FAR} for item in ("FailureTarget", "Failed")]
    sets = {**deployment("odd")["spec"], "replicas": 1, "serviceName": "s", "ordinals": {"start": LARGE}}
    cron = {"schedule": "@every 2562047h", "jobTemplate": {"spec": job("x")["spec"]}}
    zoned = {**cron, "startingDeadlineSeconds": HUGE, "schedule": "0 0 1 1 *", "timeZone": "Pacific/Auckland"}
    return [
        ("apis/batch/v1/jobs", "a", job("far", ttlSecondsAfterFinished=LARGE), {"startTime": FAR, "conditions": ended}),
        ("apis/batch/v1/jobs", "a", job("long", activeDeadlineSeconds=HUGE, backoffLimit=LARGE, suspend=False), {}),
        ("apis/batch/v1/cronjobs", "a", {"metadata": {"name": "far"}, "spec": cron}, {"lastScheduleTime": FAR}),
        ("apis/batch/v1/cronjobs", "a", {"metadata": {"name": "zoned"}, "spec": zoned}, {"lastScheduleTime": FAR}),
        ("apis/batch/v1/cronjobs", "a", {"metadata": {"name": "never"}, "spec": cron}, {"lastScheduleTime": NEVER}),
        (
            "apis/batch/v1/cronjobs",
            "a",
            {"metadata": {"name": "west"}, "spec": {**zoned, "timeZone": "America/New_York"}},
            {"lastScheduleTime": NEVER},
        ),
        ("pods", "a", pod("long", nodeName="n", activeDeadlineSeconds=LARGE, **forever), {"startTime": FAR}),
        ("pods", "a", pod("going", nodeName="gone", terminationGracePeriodSeconds=HUGE), {"phase": "Running"}),
        ("apis/coordination.k8s.io/v1/leases", "kube-system", {"metadata": {"name": "apiserver-x"}, "spec": lease}, {}),
        ("apis/apps/v1/statefulsets", "a", {"metadata": {"name": "odd"}, "spec": sets}, {}),
        (
            "apis/apps/v1/deployments",
            "a",
            {
                "metadata": {"name": "slow"},
                "spec": {**deployment("slow")["spec"], "minReadySeconds": LARGE - 1, "progressDeadlineSeconds": LARGE},
            },
            {},
        ),
        (
            "apis/policy/v1/poddisruptionbudgets",
            "a",
            {"metadata": {"name": "odd"}, "spec": {"maxUnavailable": LARGE, "selector": {}}},
            {},
        ),
    ]


async def test_t27_no_number_and_no_time_in_an_object_stops_a_controller(caplog: pytest.LogCaptureFixture) -> None:
    async with rbac_cluster(*registry.API_CONTROLLERS) as cluster:
        tainted = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": FAR}]}}
        await cluster.create("nodes", "", tainted)
        for where, namespace, body, status in extremes():
            created = await cluster.create(where, namespace, body)
            folder, _, plural = where.rpartition("/")
            path = f"/{folder or 'api/v1'}/namespaces/{namespace}/{plural}/{created['metadata']['name']}"
            if status:
                response = await cluster.request("PATCH", f"{path}/status", {"status": status}, media=MERGE)
                assert response.code in {200, 422}, (path, response.body)
        await cluster.request("DELETE", f"{PODS}/going")
        for seconds in (1, 60, 86_400):
            await cluster.pass_time(seconds)
        sound = {"metadata": {"name": "sound"}, "spec": {**deployment("sound")["spec"], "replicas": 2}}
        await cluster.create("apis/apps/v1/deployments", "a", sound)
        await cluster.settle()
        pods = (await cluster.request("GET", PODS, query={"labelSelector": "app=sound"})).json["items"]
        assert len(pods) == 2
    assert [item.getMessage() for item in caplog.records if item.levelname == "ERROR"] == []


def token_secret(account: str) -> Object:
    annotations = {service_account_tokens.ACCOUNT_NAME: account}
    return {"metadata": {"name": "t", "annotations": annotations}, "type": service_account_tokens.TYPE}


async def test_t31_token_secret_is_filled_in_the_accounts_namespace() -> None:
    async with rbac_cluster("tokens") as cluster:
        await cluster.create("serviceaccounts", "a", {"metadata": {"name": "root"}})
        await cluster.grant("eve", rbac_rule("create", "secrets"), namespace="a")
        assert (await cluster.ask_as("eve", "POST", SECRETS, body=token_secret("root"))).code == 201
        await cluster.settle()
        assert (await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).code == 403
        await cluster.grant("eve", rbac_rule("get", "secrets"), namespace="a")
        token = base64.b64decode((await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).json["data"]["token"]).decode()
        recognition = RequestAuthenticator(cluster.api.clock, cluster.api.service_accounts)
        assert (await recognition.authenticate_token(token, ())).user.name == "system:serviceaccount:a:root"
        await cluster.request("DELETE", f"{SECRETS}/t")
        with pytest.raises(errors.Unauthorized):
            await recognition.authenticate_token(token, ())


async def test_t31_token_secret_gets_no_token_of_another_namespace() -> None:
    async with rbac_cluster("tokens") as cluster:
        await cluster.create("serviceaccounts", "b", {"metadata": {"name": "root"}})
        await cluster.grant("eve", rbac_rule("*", "secrets"), namespace="a")
        for name in ("root", "b/root", "../b/root", "b:root"):
            created = await cluster.ask_as("eve", "POST", SECRETS, body=token_secret(name))
            assert created.code in {201, 422}, name
            await cluster.settle()
            assert (await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).code == 404, name
