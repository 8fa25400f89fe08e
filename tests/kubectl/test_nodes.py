"""`probate serve --nodes 3` with the newest kubectl: simulated nodes run and end all pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kubectl_program import Kubectl
from support.tenant_site import kubeconfig_of_view

ROLLED_OUT = 'deployment "web" successfully rolled out'
TIMEOUT = "--timeout=60s"

ADMINISTRATOR = pytest.mark.parametrize("view", ["cluster"], indirect=True)
"""For what a tenant cannot do: its pods run on the nodes of the platform, which it sees but does not change."""

POD_WITH_CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: claiming}
spec:
  containers: [{name: c, image: one}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
"""
SHORT_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  ttlSecondsAfterFinished: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: one}]}
"""
FAILING_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: unlucky}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {probate.dev/exit-code: "3", probate.dev/duration: 100ms}}
    spec: {restartPolicy: Never, containers: [{name: c, image: one}]}
"""


@pytest.fixture(params=["1.37"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["cluster", pytest.param("tenant", marks=pytest.mark.long)])
def view(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kubeconfig(view: str, tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[Path]:
    """A server with all controllers and simulated nodes, with short pod delays."""
    options = ("--nodes", "3", "--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with kubeconfig_of_view(view, tmp_path_factory.mktemp("server"), *options, programs=kubectls) as found:
        yield found


def apply(kubectl: Kubectl, in_namespace: tuple[str, str], tmp_path: Path, text: str) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(text)
    kubectl(*in_namespace, "create", "-f", str(file))


def test_nodes_are_ready(kubectl: Kubectl) -> None:
    for node in (
        "node/node-1",
        "node/node-2",
        "node/node-3",
    ):  # one at a time: given several, kubectl does not wait for the first to be created
        kubectl("wait", node, "--for=create", TIMEOUT)
        kubectl("wait", node, "--for=condition=Ready", TIMEOUT)
    output = kubectl("get", "nodes", "-l", "probate.dev/simulated=true", "--no-headers")
    assert re.findall(r"^(\S+) +Ready ", output, re.MULTILINE) == ["node-1", "node-2", "node-3"]


def test_deployment_rollout_rollback_and_foreground_deletion(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    kubectl(*in_namespace, "create", "deployment", "web", "--image=one", "--replicas=4")
    assert ROLLED_OUT in kubectl(*in_namespace, "rollout", "status", "deployment/web", TIMEOUT)
    kubectl(*in_namespace, "set", "image", "deployment/web", "one=two")
    assert ROLLED_OUT in kubectl(*in_namespace, "rollout", "status", "deployment/web", TIMEOUT)
    kubectl(*in_namespace, "rollout", "undo", "deployment/web")
    assert ROLLED_OUT in kubectl(*in_namespace, "rollout", "status", "deployment/web", TIMEOUT)
    kubectl(*in_namespace, "delete", "deployment", "web", "--cascade=foreground", "--wait", TIMEOUT)
    assert kubectl(*in_namespace, "get", "deployments,replicasets,pods", "-o", "name") == ""


def test_failing_job_and_job_with_ttl(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    in_namespace = ("-n", namespace)
    apply(kubectl, in_namespace, tmp_path, FAILING_JOB)
    kubectl(*in_namespace, "wait", "job/unlucky", "--for=condition=Failed", TIMEOUT)
    apply(kubectl, in_namespace, tmp_path, SHORT_JOB)
    kubectl(*in_namespace, "wait", "job/short", "--for=delete", TIMEOUT)
    assert "short" not in kubectl(*in_namespace, "get", "pods", "-o", "name")


def test_claim_in_use_is_deleted_after_its_pod(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    in_namespace = ("-n", namespace)
    apply(kubectl, in_namespace, tmp_path, POD_WITH_CLAIM)
    kubectl(*in_namespace, "wait", "pod/claiming", "--for=condition=Ready", TIMEOUT)
    volume = kubectl(*in_namespace, "get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")
    kubectl(*in_namespace, "delete", "pvc", "data", "--wait=false")
    assert "Terminating" in kubectl(*in_namespace, "get", "pvc", "data")
    kubectl(*in_namespace, "delete", "pod", "claiming")
    kubectl(*in_namespace, "wait", "pvc/data", "--for=delete", TIMEOUT)
    kubectl("wait", f"pv/{volume}", "--for=delete", TIMEOUT)


@ADMINISTRATOR
def test_drain_moves_pods_to_other_nodes(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    kubectl(*in_namespace, "create", "deployment", "web", "--image=one", "--replicas=3")
    assert ROLLED_OUT in kubectl(*in_namespace, "rollout", "status", "deployment/web", TIMEOUT)
    kubectl("drain", "node-2", "--ignore-daemonsets", "--force", TIMEOUT)
    assert ROLLED_OUT in kubectl(*in_namespace, "rollout", "status", "deployment/web", TIMEOUT)
    nodes = kubectl(*in_namespace, "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert "node-2" not in nodes.split()
    kubectl("delete", "node", "node-2")
    kubectl("-n", "kube-node-lease", "wait", "lease/node-2", "--for=delete", TIMEOUT)


@pytest.mark.long
@pytest.mark.parametrize("view", ["tenant"], indirect=True)
def test_tenant_evicts_its_pods_and_cannot_change_the_node(kubectl: Kubectl, namespace: str) -> None:
    kubectl("-n", namespace, "run", "lonely", "--image=one", '--overrides={"spec": {"nodeName": "node-3"}}')
    kubectl("-n", namespace, "wait", "pod/lonely", "--for=condition=Ready", TIMEOUT)
    output = kubectl("drain", "node-3", "--ignore-daemonsets", "--force", TIMEOUT)
    assert 'error: unable to cordon node "node-3": the server does not allow this method on the requested resource' in output
    assert kubectl("-n", namespace, "get", "pods", "-o", "name") == ""
    for change in ("label node node-3 a=b", "taint node node-3 a=b:NoSchedule", "delete node node-3"):
        assert "the server does not allow this method" in kubectl(*change.split(), fails=True)
    assert kubectl("get", "node", "node-3", "-o", "jsonpath={.spec.unschedulable}{.metadata.labels.a}") == ""


def test_unschedulable_pod_reports_why(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    overrides = '{"spec": {"nodeSelector": {"disk": "tape"}}}'
    kubectl(*in_namespace, "run", "picky", "--image=one", f"--overrides={overrides}")
    kubectl(*in_namespace, "wait", "pod/picky", "--for=condition=PodScheduled=False", TIMEOUT)
    assert "FailedScheduling" in kubectl(*in_namespace, "describe", "pod", "picky")
