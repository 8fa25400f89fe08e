"""kubectl decodes the server's protobuf with Kubernetes' own types: the JSON that it prints has every field that was encoded.

`create -o json` prints the response of the server. So a fake server responds with objects in which all fields are set, whatever was
sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from probate.kinds.protobuf import encode
from support.kubectl_program import Kubectl
from support.protobuf_objects import Filler

PROTOBUF = "application/vnd.kubernetes.protobuf"
SIMPLE = [
    ("v1", "ConfigMap", "create configmap x --from-literal=a=b"),
    ("v1", "Namespace", "create namespace x"),
    ("v1", "ResourceQuota", "create quota x --hard=pods=1"),
    ("v1", "Secret", "create secret generic x --from-literal=a=b"),
    ("v1", "Service", "create service clusterip x --tcp=80:80"),
    ("v1", "ServiceAccount", "create serviceaccount x"),
    ("authentication.k8s.io/v1", "SelfSubjectReview", "auth whoami"),
    ("networking.k8s.io/v1", "Ingress", "create ingress x --rule=a/b=c:80"),
    ("policy/v1", "PodDisruptionBudget", "create pdb x --selector=a=b --min-available=1"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "create clusterrole x --verb=get --non-resource-url=/x"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "create rolebinding x --role=x --user=y"),
    ("scheduling.k8s.io/v1", "PriorityClass", "create priorityclass x --value=1"),
]
NEW = [
    ("apps/v1", "Deployment", "create deployment x --image=x"),
    ("authentication.k8s.io/v1", "TokenRequest", "create token x"),
    ("batch/v1", "CronJob", "create cronjob x --image=x --schedule=@daily"),
]
"""These have fields that older versions of kubectl do not know."""
CASES = [("1.37", *case) for case in SIMPLE + NEW] + [("1.34", *case) for case in SIMPLE]


@contextmanager
def serving_object(object_: dict[str, Any]) -> Iterator[str]:
    """Runs a server that responds to everything with this object, in protobuf if the client accepts it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = encode.encode(object_) if self.headers["accept"].startswith(PROTOBUF) else None
            self.send_response(406 if body is None else 201)
            self.send_header("content-type", PROTOBUF)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.mark.parametrize(("version", "api_version", "kind", "command"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES])
def test_kubectl_decodes_every_field(
    version: str, api_version: str, kind: str, command: str, kubectls: Path, homes: Path, tmp_path: Path
) -> None:
    schema = encode.schema(api_version, kind)
    assert schema is not None
    complete = {"apiVersion": api_version, "kind": kind, **Filler().object(schema)}
    with serving_object(complete) as url:
        kubectl = Kubectl(kubectls / version / "kubectl", tmp_path / "kubeconfig", homes / version, folder=tmp_path)
        printed = kubectl("--server", url, *command.split(), "-o", "json", "--show-managed-fields")
    assert json.loads(printed) == complete


@pytest.mark.parametrize("version", ["1.34", "1.37"])
def test_kubectl_decodes_watch_frames(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    def create_event(message: str) -> None:
        event_object = {"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "x", "namespace": namespace}}
        involved = {"kind": "Pod", "name": "some-pod", "namespace": namespace, "apiVersion": "v1"}
        event = {**event_object, "involvedObject": involved, "reason": "Told", "message": message, "type": "Normal"}
        (tmp_path / "event.json").write_text(json.dumps(event))
        kubectl("create", "-f", "event.json")

    create_event("as it was")
    with kubectl.stream("events", "--watch", "-n", namespace) as lines:
        assert any("Told" in line and "as it was" in line for line in lines)
        create_event("by frames")
        assert any("Told" in line and "by frames" in line for line in lines)
