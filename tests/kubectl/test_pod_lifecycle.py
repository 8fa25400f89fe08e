"""Workloads on simulated nodes with kubectl: they are created, updated and deleted, together with all their dependents.

What takes minutes is in e2e/test_workloads.py, on a virtual clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.kubectl_program import Kubectl
from support.tenant_site import kubeconfig_of_view

TIMEOUT = "--timeout=20s"
STOP_DELAY = {"probate.dev/stop-delay": "1s"}
"""Long enough that a command that does not wait for pods still finds them."""


@pytest.fixture(scope="module", params=["cluster", pytest.param("tenant", marks=pytest.mark.long)])
def view(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kubeconfig(view: str, tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[Path]:
    """A server with three nodes on which pods start and end fast."""
    options = ("--nodes", "3", "--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with kubeconfig_of_view(view, tmp_path_factory.mktemp("server"), *options, programs=kubectls) as found:
        yield found


@pytest.fixture
def version() -> str:
    return "1.37"


class Session:
    """Runs kubectl in one namespace."""

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
        """Returns names, each with its kind."""
        return self(f"get {kinds} -o name {selector}").split()

    def is_rolled_out(self, workload_name: str) -> bool:
        return re.search("successfully rolled out|roll out complete", self(f"rollout status {workload_name} {TIMEOUT}")) is not None


@pytest.fixture
def session(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Session:
    return Session(kubectl, namespace, tmp_path)


def template(app: str, *, annotations: Any = None, **spec: Any) -> Any:
    container = {"name": "c", "image": "one"}
    return {"metadata": {"labels": {"app": app}, "annotations": annotations or {}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, **spec: Any) -> Any:
    workload_spec = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": workload_spec}


def images(session: Session) -> set[str]:
    return set(session("get pods -o jsonpath={.items[*].spec.containers[*].image}").split())


def test_deployment_rollout_rollback_and_foreground_deletion(session: Session) -> None:
    session.create(workload("Deployment", "web", replicas=3, template=template("web", annotations=STOP_DELAY)))
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
    session(f"delete deployment web --cascade=foreground --wait {TIMEOUT}")
    assert session.all("deployments,replicasets,pods") == []


@pytest.mark.parametrize("when_scaled", ["Retain", "Delete"])
@pytest.mark.parametrize("when_deleted", ["Retain", "Delete"])
def test_statefulset_scaling_and_claim_retention(session: Session, when_deleted: str, when_scaled: str) -> None:
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    claim_spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": claim_spec}]
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
    session(f"wait pod/db-1 pod/db-2 --for=delete {TIMEOUT}")
    expected_claims = [f"persistentvolumeclaim/data-db-{number}" for number in range(3 if when_scaled == "Retain" else 1)]
    if when_scaled == "Delete":
        session(f"wait pvc/data-db-1 pvc/data-db-2 --for=delete {TIMEOUT}")
    assert session.all("pvc") == expected_claims
    session(f"delete statefulset db --cascade=foreground --wait {TIMEOUT}")
    assert session.all("pods") == []
    if when_deleted == "Delete":
        session(f"wait pvc --all --for=delete {TIMEOUT}")
        session(f"wait pv {' '.join(volumes)} --for=delete {TIMEOUT}")
        expected_claims = []
    assert session.all("pvc") == expected_claims
    assert session("get pvc -o jsonpath={.items[*].metadata.deletionTimestamp}") == ""


def test_cronjob_history_limit(session: Session) -> None:
    pod = template("work", annotations={"probate.dev/duration": "100ms"}, restartPolicy="Never")
    spec = {"schedule": "0 0 1 1 *", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": {"template": pod}}}
    session.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "yearly"}, "spec": spec})
    session("create job first --from=cronjob/yearly")
    session(f"wait job/first --for=condition=Complete {TIMEOUT}")
    session("create job second --from=cronjob/yearly")
    session(f"wait job/first --for=delete {TIMEOUT}")
    session(f"wait job/second --for=condition=Complete {TIMEOUT}")
    session(f"wait pods -l job-name=first --for=delete {TIMEOUT}")
    assert session.all("jobs") == ["job.batch/second"]
    session(f"delete cronjob yearly --cascade=foreground --wait {TIMEOUT}")
    assert session.all("cronjobs,jobs,pods") == []


def test_job_is_deleted_after_its_ttl(session: Session) -> None:
    pod = template("work", annotations={"probate.dev/duration": "100ms"}, restartPolicy="Never")
    spec = {"ttlSecondsAfterFinished": 2, "template": pod}
    session.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "brief"}, "spec": spec})
    session(f"wait job/brief --for=condition=Complete {TIMEOUT}")
    assert session.all("jobs") == ["job.batch/brief"]
    session(f"wait job/brief --for=delete {TIMEOUT}")
    assert session.all("jobs,pods") == []


@pytest.mark.parametrize("view", ["cluster"], indirect=True)  # a tenant cannot change the nodes of the platform
def test_drain_evicts_pods(session: Session) -> None:
    session.create(workload("Deployment", "web", replicas=6))
    session.create(workload("DaemonSet", "agent"))
    assert session.is_rolled_out("deployment/web")
    assert session.is_rolled_out("daemonset/agent")
    on_node = "--field-selector spec.nodeName=node-1"
    assert len(session.all("pods", on_node)) > 1
    session(f"drain node-1 --ignore-daemonsets {TIMEOUT}")
    assert session.is_rolled_out("deployment/web")
    assert session("get nodes node-1 -o jsonpath={.spec.unschedulable}") == "true"
    [remaining] = session.all("pods", on_node)
    assert remaining.startswith("pod/agent-")
    session(f"delete node node-1 --wait {TIMEOUT}")
    session(f"wait lease/node-1 -n kube-node-lease --for=delete {TIMEOUT}")
    assert session.is_rolled_out("daemonset/agent")
    assert session("get daemonset agent -o jsonpath={.status.desiredNumberScheduled}") == "2"
    assert session("get deployment web -o jsonpath={.status.readyReplicas}") == "6"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_rollback_to_a_revision(session: Session, kind: str) -> None:
    workload_name = f"{kind.lower()}/web"
    session.create(workload(kind, "web", **({"replicas": 2} if kind == "StatefulSet" else {})))
    assert session.is_rolled_out(workload_name)
    session(f"set image {workload_name} c=two")
    assert session.is_rolled_out(workload_name)
    assert images(session) == {"two"}
    assert re.findall(r"^\d+", session(f"rollout history {workload_name}"), re.MULTILINE) == ["1", "2"]
    session(f"rollout undo {workload_name}")
    assert session.is_rolled_out(workload_name)
    assert images(session) == {"one"}
    assert re.findall(r"^\d+", session(f"rollout history {workload_name}"), re.MULTILINE) == ["2", "3"]
    session(f"delete {workload_name} --cascade=foreground --wait {TIMEOUT}")
    assert session.all("pods,controllerrevisions") == []


def test_drain_respects_the_disruption_budget(session: Session) -> None:
    session.create(workload("StatefulSet", "db", replicas=2, podManagementPolicy="Parallel"))
    session("create poddisruptionbudget db --selector=app=db --min-available=2")
    assert session.is_rolled_out("statefulset/db")
    node = session("get pod db-0 -o jsonpath={.spec.nodeName}")
    output = session(f"drain {node} --ignore-daemonsets --pod-selector=app=db --timeout=3s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget" in output
    session("scale statefulset/db --replicas=3")
    assert session.is_rolled_out("statefulset/db")
    assert "drained" in session(f"drain {node} --ignore-daemonsets --pod-selector=app=db {TIMEOUT}")
    session(f"uncordon {node}")
    assert session.is_rolled_out("statefulset/db")
