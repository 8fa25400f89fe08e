"""`probate serve --nodes 3`, as people drive it with the newest kubectl: everything lives and ends by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kubectl_program import Kubectl
from support.server_process import serving

DONE = 'deployment "web" successfully rolled out'
PATIENCE = "--timeout=60s"

CLAIMING = """
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
SHORT = """
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  ttlSecondsAfterFinished: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: one}]}
"""
UNLUCKY = """
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


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A server with all controllers and simulated nodes, where pods start and stop fast."""
    folder = tmp_path_factory.mktemp("server")
    delays = ("--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with serving(folder, "memory:", "--insecure", "--nodes", "3", *delays) as server:
        yield server.kubeconfig


def apply(kubectl: Kubectl, here: tuple[str, str], tmp_path: Path, text: str) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(text)
    kubectl(*here, "create", "-f", str(file))


def test_nodes_are_ready(kubectl: Kubectl) -> None:
    for node in (
        "node/node-1",
        "node/node-2",
        "node/node-3",
    ):  # one by one: of several, kubectl does not wait for the first to come
        kubectl("wait", node, "--for=create", PATIENCE)
        kubectl("wait", node, "--for=condition=Ready", PATIENCE)
    shown = kubectl("get", "nodes", "-l", "probate.dev/simulated=true", "--no-headers")
    assert re.findall(r"^(\S+) +Ready ", shown, re.MULTILINE) == ["node-1", "node-2", "node-3"]


def test_deployment_rolls_out_and_back_and_goes_after_its_pods(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    kubectl(*here, "create", "deployment", "web", "--image=one", "--replicas=4")
    assert DONE in kubectl(*here, "rollout", "status", "deployment/web", PATIENCE)
    kubectl(*here, "set", "image", "deployment/web", "one=two")
    assert DONE in kubectl(*here, "rollout", "status", "deployment/web", PATIENCE)
    kubectl(*here, "rollout", "undo", "deployment/web")
    assert DONE in kubectl(*here, "rollout", "status", "deployment/web", PATIENCE)
    kubectl(*here, "delete", "deployment", "web", "--cascade=foreground", "--wait", PATIENCE)
    assert kubectl(*here, "get", "deployments,replicasets,pods", "-o", "name") == ""


def test_jobs_end_as_they_are_told_and_one_with_a_time_to_live_goes(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    here = ("-n", namespace)
    apply(kubectl, here, tmp_path, UNLUCKY)
    kubectl(*here, "wait", "job/unlucky", "--for=condition=Failed", PATIENCE)
    apply(kubectl, here, tmp_path, SHORT)
    kubectl(*here, "wait", "job/short", "--for=delete", PATIENCE)
    assert "short" not in kubectl(*here, "get", "pods", "-o", "name")


def test_a_pod_with_a_claim_runs_and_the_claim_waits_for_it_to_go(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    here = ("-n", namespace)
    apply(kubectl, here, tmp_path, CLAIMING)
    kubectl(*here, "wait", "pod/claiming", "--for=condition=Ready", PATIENCE)
    volume = kubectl(*here, "get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")
    kubectl(*here, "delete", "pvc", "data", "--wait=false")
    assert "Terminating" in kubectl(*here, "get", "pvc", "data")
    kubectl(*here, "delete", "pod", "claiming")
    kubectl(*here, "wait", "pvc/data", "--for=delete", PATIENCE)
    kubectl("wait", f"pv/{volume}", "--for=delete", PATIENCE)


def test_a_drained_node_empties_and_its_pods_run_elsewhere(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    kubectl(*here, "create", "deployment", "web", "--image=one", "--replicas=3")
    assert DONE in kubectl(*here, "rollout", "status", "deployment/web", PATIENCE)
    kubectl("drain", "node-2", "--ignore-daemonsets", "--force", PATIENCE)
    assert DONE in kubectl(*here, "rollout", "status", "deployment/web", PATIENCE)
    nodes = kubectl(*here, "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert "node-2" not in nodes.split()
    kubectl("delete", "node", "node-2")
    kubectl("-n", "kube-node-lease", "wait", "lease/node-2", "--for=delete", PATIENCE)


def test_a_pod_that_cannot_be_placed_says_why(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    overrides = '{"spec": {"nodeSelector": {"disk": "tape"}}}'
    kubectl(*here, "run", "picky", "--image=one", f"--overrides={overrides}")
    kubectl(*here, "wait", "pod/picky", "--for=condition=PodScheduled=False", PATIENCE)
    assert "FailedScheduling" in kubectl(*here, "describe", "pod", "picky")
