"""Controllers as a way to delete what one may not, or to keep them from their work (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.controllers.access import service_account_tokens
from probate.core import errors
from probate.server.authn.authenticator import Recognition
from support.attacker_requests import MERGE, PODS, SECRETS, Object, deployment, may, pod
from support.rbac_server import GuardedCluster, controlled

BATCH = "/apis/batch/v1/namespaces/a"
SETS = "/apis/apps/v1/namespaces/a/replicasets"
HUGE, LARGE = 2**63 - 1, 2**31 - 1
FAR, NEVER = "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"
LABELS = {"app": "victim"}


async def code_of(cluster: GuardedCluster, path: str) -> int:
    await cluster.settle()
    return (await cluster.ask("GET", path)).code


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"template": template, "suspend": True, **spec}}


async def finish(cluster: GuardedCluster, name: str, when: str) -> None:
    conditions = [{"type": one, "status": "True", "lastTransitionTime": when} for one in ("FailureTarget", "Failed")]
    status = {"status": {"startTime": when, "conditions": conditions}}
    assert (await cluster.ask("PATCH", f"{BATCH}/jobs/{name}/status", status, media=MERGE)).code == 200


async def test_t24_job_that_runs_is_not_deleted_by_a_time_to_live() -> None:
    async with controlled("finishedjobs") as cluster:
        await cluster.grant("eve", may("get update patch", "jobs", group="batch"), namespace="a")
        for name in ("running", "over"):
            await cluster.create("apis/batch/v1/jobs", "a", job(name))
        await finish(cluster, "over", "2023-11-14T00:00:00Z")
        assert (await cluster.ask_as("eve", "DELETE", f"{BATCH}/jobs/over")).code == 403
        for name in ("running", "over"):
            change = {"spec": {"ttlSecondsAfterFinished": 0}}
            assert (await cluster.ask_as("eve", "PATCH", f"{BATCH}/jobs/{name}", change, media=MERGE)).code == 200
        assert await code_of(cluster, f"{BATCH}/jobs/running") == 200
        assert await code_of(cluster, f"{BATCH}/jobs/over") == 404  # as in Kubernetes: who may change a Job says when it is over


async def test_t25_selector_takes_no_pods_that_have_a_controller_or_are_elsewhere() -> None:
    async with controlled("replicasets") as cluster:
        await cluster.grant("eve", may("*", "replicasets", group="apps"), namespace="a")
        spec = {"replicas": 1, **deployment("victim")["spec"]}
        await cluster.create("apis/apps/v1/replicasets", "a", {"metadata": {"name": "victim"}, "spec": spec})
        await cluster.create("pods", "a", pod("lonely", meta={"labels": LABELS}))
        await cluster.create("pods", "b", pod("far", meta={"labels": LABELS}))
        await cluster.ask("PATCH", f"{SETS}/victim", {"spec": {"replicas": 1}}, media=MERGE)
        await cluster.settle()
        owned = [one["metadata"]["name"] for one in (await cluster.ask("GET", PODS)).json["items"]]
        thief = {"metadata": {"name": "thief"}, "spec": {**spec, "replicas": 0}}
        assert (await cluster.ask_as("eve", "POST", SETS, thief)).code == 201
        assert await code_of(cluster, "/api/v1/namespaces/b/pods/far") == 200
        left = [one["metadata"]["name"] for one in (await cluster.ask("GET", PODS)).json["items"]]
        assert left == owned  # the lonely one was adopted by the first who selected it, as in Kubernetes: in the same namespace


async def test_t25_adoption_of_a_pod_that_is_nobodys_is_for_who_may_make_controllers_there() -> None:
    async with controlled("replicasets") as cluster:
        await cluster.grant("eve", may("create", "pods"), may("get update patch", "replicasets", group="apps"), namespace="a")
        await cluster.create("pods", "a", pod("lonely", meta={"labels": LABELS}))
        thief = {"metadata": {"name": "thief"}, "spec": {"replicas": 0, **deployment("victim")["spec"]}}
        assert (await cluster.ask_as("eve", "POST", SETS, thief)).code == 403
        assert await code_of(cluster, f"{PODS}/lonely") == 200


def volume(**spec: Any) -> Object:
    basics = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    return {"metadata": {"name": "v"}, "spec": {**basics, "persistentVolumeReclaimPolicy": "Delete", **spec}}


def claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
    return {"metadata": {"name": name}, "spec": {**spec, "storageClassName": ""}}


async def test_t26_volume_of_a_claim_does_not_go_with_a_claim_of_another_namespace() -> None:
    async with controlled("volumes") as cluster:
        await cluster.grant("eve", may("*", "persistentvolumeclaims"), namespace="b")
        reserved = {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "a", "name": "mine"}, "storageClassName": ""}
        await cluster.create("persistentvolumes", "", volume(**reserved))
        await cluster.create("persistentvolumeclaims", "a", claim("mine"))
        claims = "/api/v1/namespaces/b/persistentvolumeclaims"
        assert (await cluster.ask_as("eve", "POST", claims, claim("mine"))).code == 201
        await cluster.settle()
        assert (await cluster.ask("GET", f"{claims}/mine")).json["status"].get("phase") != "Bound"
        await cluster.ask_as("eve", "DELETE", f"{claims}/mine")
        assert await code_of(cluster, "/api/v1/persistentvolumes/v") == 200


def extremes() -> list[tuple[str, str, Object, Object]]:
    """Where, in which namespace, what, and with which status: numbers and times at the end of what can be written."""
    forever: Object = {"tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": HUGE}]}
    lease = {"holderIdentity": "x", "leaseDurationSeconds": LARGE, "renewTime": "9999-12-31T23:59:59.999999Z"}
    ended = [{"type": one, "status": "True", "lastTransitionTime": FAR} for one in ("FailureTarget", "Failed")]
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


WORKLOADS = ("replicasets", "deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "endpointslices", "disruptions")
LIFETIMES = ("finishedjobs", "podgc", "nodes", "evictions", "scheduler", "volumes")


async def test_t27_no_number_and_no_time_in_an_object_stops_a_controller(caplog: pytest.LogCaptureFixture) -> None:
    async with controlled(*WORKLOADS, *LIFETIMES) as cluster:
        tainted = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": FAR}]}}
        await cluster.create("nodes", "", tainted)
        for where, namespace, body, status in extremes():
            made = await cluster.create(where, namespace, body)
            folder, _, plural = where.rpartition("/")
            path = f"/{folder or 'api/v1'}/namespaces/{namespace}/{plural}/{made['metadata']['name']}"
            if status:
                told = await cluster.ask("PATCH", f"{path}/status", {"status": status}, media=MERGE)
                assert told.code in {200, 422}, (path, told.body)
        await cluster.ask("DELETE", f"{PODS}/going")
        for seconds in (1, 60, 86_400):
            await cluster.pass_time(seconds)
        sound = {"metadata": {"name": "sound"}, "spec": {**deployment("sound")["spec"], "replicas": 2}}
        await cluster.create("apis/apps/v1/deployments", "a", sound)
        await cluster.settle()
        pods = (await cluster.ask("GET", PODS, query={"labelSelector": "app=sound"})).json["items"]
        assert len(pods) == 2
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


def token_secret(account: str) -> Object:
    annotations = {service_account_tokens.ACCOUNT: account}
    return {"metadata": {"name": "t", "annotations": annotations}, "type": service_account_tokens.TYPE}


async def test_t31_secret_is_filled_for_who_may_make_and_read_secrets_beside_the_account() -> None:
    async with controlled("tokens") as cluster:
        await cluster.create("serviceaccounts", "a", {"metadata": {"name": "root"}})
        await cluster.grant("eve", may("create", "secrets"), namespace="a")
        assert (await cluster.ask_as("eve", "POST", SECRETS, token_secret("root"))).code == 201
        await cluster.settle()
        assert (await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).code == 403
        await cluster.grant("eve", may("get", "secrets"), namespace="a")
        token = base64.b64decode((await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).json["data"]["token"]).decode()
        recognition = Recognition(cluster.api.clock, cluster.api.accounts)
        assert (await recognition.of_token(token, ())).user.name == "system:serviceaccount:a:root"
        await cluster.ask("DELETE", f"{SECRETS}/t")
        with pytest.raises(errors.Unauthorized):
            await recognition.of_token(token, ())


async def test_t31_secret_gets_no_token_of_an_account_in_another_namespace() -> None:
    async with controlled("tokens") as cluster:
        await cluster.create("serviceaccounts", "b", {"metadata": {"name": "root"}})
        await cluster.grant("eve", may("*", "secrets"), namespace="a")
        for name in ("root", "b/root", "../b/root", "b:root"):
            made = await cluster.ask_as("eve", "POST", SECRETS, token_secret(name))
            assert made.code in {201, 422}, name
            await cluster.settle()
            assert (await cluster.ask_as("eve", "GET", f"{SECRETS}/t")).code == 404, name
