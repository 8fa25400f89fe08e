"""Deployments and Jobs, as people drive them with kubectl, while somebody else does what nodes would."""

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
from support.server_process import serving

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class Node(threading.Thread):
    """Makes every pod that comes run and serve; and end, if its image is called `ends`."""

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
    """A server with all controllers, and its one node."""
    folder = tmp_path_factory.mktemp("server")
    with serving(folder, "memory:", "--insecure") as server:
        node = Node(server.url)
        node.start()
        yield server.kubeconfig
    node.join()


def test_deployment_rolls_out_and_back_and_goes_with_its_pods(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    done = 'deployment "web" successfully rolled out'
    kubectl(*here, "create", "deployment", "web", "--image=one")
    kubectl(*here, "scale", "deployment", "web", "--replicas=3")
    assert done in kubectl(*here, "rollout", "status", "deployment/web", "--timeout=60s")
    kubectl(*here, "set", "image", "deployment/web", "one=two")
    assert done in kubectl(*here, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, here) == {"two"}
    kubectl(*here, "wait", "deployment/web", "--for=condition=Available", "--timeout=60s")
    revisions = re.findall(r"^(\d+) ", kubectl(*here, "rollout", "history", "deployment/web"), re.MULTILINE)
    assert revisions == ["1", "2"]
    kubectl(*here, "rollout", "undo", "deployment/web")
    assert done in kubectl(*here, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, here) == {"one"}
    revisions = re.findall(r"^(\d+) ", kubectl(*here, "rollout", "history", "deployment/web"), re.MULTILINE)
    assert revisions == ["2", "3"]
    kubectl(*here, "rollout", "pause", "deployment/web")
    kubectl(*here, "set", "image", "deployment/web", "one=three")
    assert images(kubectl, here) == {"one"}
    kubectl(*here, "rollout", "resume", "deployment/web")
    assert done in kubectl(*here, "rollout", "status", "deployment/web", "--timeout=60s")
    assert images(kubectl, here) == {"three"}
    kubectl(*here, "delete", "deployment", "web", "--cascade=foreground", "--wait", "--timeout=60s")
    assert kubectl(*here, "get", "deployments,replicasets,pods", "-o", "name") == ""


def images(kubectl: Kubectl, here: tuple[str, str]) -> set[str]:
    """Of the pods that are not on their way out."""
    pods = orjson.loads(kubectl(*here, "get", "pods", "-o", "json"))["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def test_job_completes_and_goes(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    kubectl(*here, "create", "job", "work", "--image=ends")
    kubectl(*here, "wait", "job/work", "--for=condition=Complete", "--timeout=60s")
    assert kubectl(*here, "get", "job", "work", "-o", "jsonpath={.status.succeeded}") == "1"
    shown = kubectl(*here, "describe", "job", "work")
    assert "SuccessfulCreate" in shown
    assert "Completed" in shown
    kubectl(*here, "delete", "job", "work")
    assert kubectl(*here, "get", "jobs,pods", "-o", "name") == ""
