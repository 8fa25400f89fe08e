"""Workloads on simulated nodes, as people drive them with kubectl: they come, they change, and they go with all that is theirs.

What takes minutes is in e2e/test_workloads.py, on a clock that can be moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.kubectl_program import Kubectl
from support.server_process import serving

SOON = "--timeout=20s"
TO_END = {"probate.dev/stop-delay": "1s"}
"""Long enough that somebody who does not wait for pods finds them."""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A server with three nodes on which pods start and end fast."""
    folder = tmp_path_factory.mktemp("server")
    delays = ("--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with serving(folder, "memory:", "--insecure", "--nodes", "3", *delays) as server:
        yield server.kubeconfig


@pytest.fixture
def version() -> str:
    return "1.37"


class Session:
    """kubectl in one namespace."""

    def __init__(self, kubectl: Kubectl, namespace: str, folder: Path) -> None:
        self._kubectl = kubectl
        self._namespace = namespace
        self._folder = folder

    def __call__(self, line: str, *, fails: bool = False) -> str:
        return self._kubectl("-n", self._namespace, *line.split(), fails=fails)

    def create(self, object_: Any) -> None:
        (self._folder / "new.json").write_bytes(orjson.dumps(object_))
        self("create -f new.json")

    def all(self, kinds: str, selector: str = "") -> list[str]:
        """Names, with their kinds."""
        return self(f"get {kinds} -o name {selector}").split()

    def is_rolled_out(self, what: str) -> bool:
        return re.search("successfully rolled out|roll out complete", self(f"rollout status {what} {SOON}")) is not None


@pytest.fixture
def session(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Session:
    return Session(kubectl, namespace, tmp_path)


def template(app: str, *, annotations: Any = None, **spec: Any) -> Any:
    container = {"name": "c", "image": "one"}
    return {"metadata": {"labels": {"app": app}, "annotations": annotations or {}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, **spec: Any) -> Any:
    new = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": new}


def images(session: Session) -> set[str]:
    return set(session("get pods -o jsonpath={.items[*].spec.containers[*].image}").split())


def test_a_deployment_rolls_out_and_back_and_is_gone_after_its_pods(session: Session) -> None:
    session.create(workload("Deployment", "web", replicas=3, template=template("web", annotations=TO_END)))
    assert session.is_rolled_out("deployment/web")
    session("wait deployment/web --for=condition=Available --timeout=20s")
    session("wait pods -l app=web --for=condition=Ready --timeout=20s")
    session("set image deployment/web c=two")
    assert session.is_rolled_out("deployment/web")
    session("wait deployment/web --for=jsonpath={.status.terminatingReplicas}=0 --timeout=20s")
    assert images(session) == {"two"}
    session("rollout undo deployment/web")
    assert session.is_rolled_out("deployment/web")
    session("wait deployment/web --for=jsonpath={.status.terminatingReplicas}=0 --timeout=20s")
    assert images(session) == {"one"}
    assert len(session.all("pods")) == 3
    session(f"delete deployment web --cascade=foreground --wait {SOON}")
    assert session.all("deployments,replicasets,pods") == []


@pytest.mark.parametrize("when_scaled", ["Retain", "Delete"])
@pytest.mark.parametrize("when_deleted", ["Retain", "Delete"])
def test_a_statefulset_scales_and_its_claims_stay_or_go(session: Session, when_deleted: str, when_scaled: str) -> None:
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": asked}]
    session.create(
        workload(
            "StatefulSet",
            "db",
            replicas=1,
            serviceName="db",
            persistentVolumeClaimRetentionPolicy=policy,
            volumeClaimTemplates=claims,
        )
    )
    assert session.is_rolled_out("statefulset/db")
    session("scale statefulset db --replicas=3")
    assert session.is_rolled_out("statefulset/db")
    assert session.all("pods") == ["pod/db-0", "pod/db-1", "pod/db-2"]
    assert session("get pvc -o jsonpath={.items[*].status.phase}") == "Bound Bound Bound"
    volumes = session("get pvc -o jsonpath={.items[*].spec.volumeName}").split()
    session("scale statefulset db --replicas=1")
    session(f"wait pod/db-1 pod/db-2 --for=delete {SOON}")
    kept = [f"persistentvolumeclaim/data-db-{number}" for number in range(3 if when_scaled == "Retain" else 1)]
    if when_scaled == "Delete":
        session(f"wait pvc/data-db-1 pvc/data-db-2 --for=delete {SOON}")
    assert session.all("pvc") == kept
    session(f"delete statefulset db --cascade=foreground --wait {SOON}")
    assert session.all("pods") == []
    if when_deleted == "Delete":
        session(f"wait pvc --all --for=delete {SOON}")
        session(f"wait pv {' '.join(volumes)} --for=delete {SOON}")
        kept = []
    assert session.all("pvc") == kept
    assert session("get pvc -o jsonpath={.items[*].metadata.deletionTimestamp}") == ""


def test_a_cronjob_keeps_as_many_jobs_as_it_should(session: Session) -> None:
    pod = template("work", annotations={"probate.dev/duration": "100ms"}, restartPolicy="Never")
    spec = {"schedule": "0 0 1 1 *", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": {"template": pod}}}
    session.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "yearly"}, "spec": spec})
    session("create job first --from=cronjob/yearly")
    session(f"wait job/first --for=condition=Complete {SOON}")
    session("create job second --from=cronjob/yearly")
    session(f"wait job/first --for=delete {SOON}")
    session(f"wait job/second --for=condition=Complete {SOON}")
    session(f"wait pods -l job-name=first --for=delete {SOON}")
    assert session.all("jobs") == ["job.batch/second"]
    session(f"delete cronjob yearly --cascade=foreground --wait {SOON}")
    assert session.all("cronjobs,jobs,pods") == []


def test_a_job_goes_when_its_time_is_over(session: Session) -> None:
    pod = template("work", annotations={"probate.dev/duration": "100ms"}, restartPolicy="Never")
    spec = {"ttlSecondsAfterFinished": 2, "template": pod}
    session.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "brief"}, "spec": spec})
    session(f"wait job/brief --for=condition=Complete {SOON}")
    assert session.all("jobs") == ["job.batch/brief"]
    session(f"wait job/brief --for=delete {SOON}")
    assert session.all("jobs,pods") == []


def test_pods_leave_a_node_that_is_drained(session: Session) -> None:
    session.create(workload("Deployment", "web", replicas=6))
    session.create(workload("DaemonSet", "agent"))
    assert session.is_rolled_out("deployment/web")
    assert session.is_rolled_out("daemonset/agent")
    here = "--field-selector spec.nodeName=node-1"
    assert len(session.all("pods", here)) > 1
    session(f"drain node-1 --ignore-daemonsets {SOON}")
    assert session.is_rolled_out("deployment/web")
    assert session("get nodes node-1 -o jsonpath={.spec.unschedulable}") == "true"
    [left] = session.all("pods", here)
    assert left.startswith("pod/agent-")
    session(f"delete node node-1 --wait {SOON}")
    session(f"wait lease/node-1 -n kube-node-lease --for=delete {SOON}")
    assert session.is_rolled_out("daemonset/agent")
    assert session("get daemonset agent -o jsonpath={.status.desiredNumberScheduled}") == "2"
    assert session("get deployment web -o jsonpath={.status.readyReplicas}") == "6"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_those_with_revisions_go_back_to_one(session: Session, kind: str) -> None:
    what = f"{kind.lower()}/web"
    session.create(workload(kind, "web", **({"replicas": 2} if kind == "StatefulSet" else {})))
    assert session.is_rolled_out(what)
    session(f"set image {what} c=two")
    assert session.is_rolled_out(what)
    assert images(session) == {"two"}
    assert re.findall(r"^\d+", session(f"rollout history {what}"), re.MULTILINE) == ["1", "2"]
    session(f"rollout undo {what}")
    assert session.is_rolled_out(what)
    assert images(session) == {"one"}
    assert re.findall(r"^\d+", session(f"rollout history {what}"), re.MULTILINE) == ["2", "3"]
    session(f"delete {what} --cascade=foreground --wait {SOON}")
    assert session.all("pods,controllerrevisions") == []


def test_drain_waits_for_what_the_budget_allows(session: Session) -> None:
    session.create(workload("StatefulSet", "db", replicas=2, podManagementPolicy="Parallel"))
    session("create poddisruptionbudget db --selector=app=db --min-available=2")
    assert session.is_rolled_out("statefulset/db")
    node = session("get pod db-0 -o jsonpath={.spec.nodeName}")
    refused = session(f"drain {node} --ignore-daemonsets --pod-selector=app=db --timeout=3s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget" in refused
    session("scale statefulset/db --replicas=3")
    assert session.is_rolled_out("statefulset/db")
    assert "drained" in session(f"drain {node} --ignore-daemonsets --pod-selector=app=db {SOON}")
    session(f"uncordon {node}")
    assert session.is_rolled_out("statefulset/db")
