"""Deployments and Jobs with kubectl on a server without nodes; a thread of the test acts as the kubelet."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from support.kubectl_program import Kubectl
from support.server_process import run_server

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class FakeKubelet(threading.Thread):
    """Acts as a kubelet: marks every new pod as running and ready, or as succeeded if its image is called `ends`."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url

    def run(self) -> None:
        with (
            httpx.Client(base_url=self._url, timeout=None) as http,  # noqa: S113 a watch lasts as long as the server
            suppress(httpx.HTTPError),
            http.stream("GET", "/api/v1/pods?watch=1") as watch,
        ):
            for event in map(orjson.loads, watch.iter_lines()):
                if event["type"] == "ADDED":
                    self._start(event["object"])

    def _start(self, pod: Any) -> None:
        meta, image = pod["metadata"], pod["spec"]["containers"][0]["image"]
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": meta["creationTimestamp"]}
        status = {"phase": "Succeeded"} if image == "ends" else {"phase": "Running", "conditions": [ready]}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        httpx.patch(self._url + path, content=orjson.dumps({"status": status}), headers=MERGE_PATCH, timeout=60)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A server with all controllers, and one fake node."""
    folder = tmp_path_factory.mktemp("server")
    with run_server(folder, "memory:", "--insecure") as server:
        node = FakeKubelet(server.url)
        node.start()
        yield server.kubeconfig
    node.join()


def test_deployment_rollout_rollback_pause_and_delete(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    success = 'deployment "web" successfully rolled out'
    kubectl(*in_namespace, "create", "deployment", "web", "--image=one")
    kubectl(*in_namespace, "scale", "deployment", "web", "--replicas=3")
    assert success in kubectl(*in_namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    kubectl(*in_namespace, "set", "image", "deployment/web", "one=two")
    assert success in kubectl(*in_namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, in_namespace) == {"two"}
    kubectl(*in_namespace, "wait", "deployment/web", "--for=condition=Available", "--timeout=60s")
    revisions = re.findall(r"^(\d+) ", kubectl(*in_namespace, "rollout", "history", "deployment/web"), re.MULTILINE)
    assert revisions == ["1", "2"]
    kubectl(*in_namespace, "rollout", "undo", "deployment/web")
    assert success in kubectl(*in_namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, in_namespace) == {"one"}
    revisions = re.findall(r"^(\d+) ", kubectl(*in_namespace, "rollout", "history", "deployment/web"), re.MULTILINE)
    assert revisions == ["2", "3"]
    kubectl(*in_namespace, "rollout", "pause", "deployment/web")
    kubectl(*in_namespace, "set", "image", "deployment/web", "one=three")
    assert images(kubectl, in_namespace) == {"one"}
    kubectl(*in_namespace, "rollout", "resume", "deployment/web")
    assert success in kubectl(*in_namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, in_namespace) == {"three"}
    kubectl(*in_namespace, "delete", "deployment", "web", "--cascade=foreground", "--wait", "--timeout=60s")
    assert kubectl(*in_namespace, "get", "deployments,replicasets,pods", "-o", "name") == ""


def images(kubectl: Kubectl, in_namespace: tuple[str, str]) -> set[str]:
    """Returns the images of the pods that are not being deleted."""
    pods = orjson.loads(kubectl(*in_namespace, "get", "pods", "-o", "json"))["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def test_job_completes_and_is_deleted(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    kubectl(*in_namespace, "create", "job", "work", "--image=ends")
    kubectl(*in_namespace, "wait", "job/work", "--for=condition=Complete", "--timeout=60s")
    assert kubectl(*in_namespace, "get", "job", "work", "-o", "jsonpath={.status.succeeded}") == "1"
    description = kubectl(*in_namespace, "describe", "job", "work")
    assert "SuccessfulCreate" in description
    assert "Completed" in description
    kubectl(*in_namespace, "delete", "job", "work")
    assert kubectl(*in_namespace, "get", "jobs,pods", "-o", "name") == ""
