"""Runs the transcript session.txt with kubectl of each version, and tests commands that run in the background.

All of it in the cluster of the administrator and in that of a tenant.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from support import kubectl_transcript
from support.kubectl_program import Kubectl

HERE = Path(__file__).parent
SESSION = HERE / "session.txt"


@pytest.mark.parametrize("section", kubectl_transcript.sections(SESSION))
def test_transcript(kubectl: Kubectl, version: str, view: str, namespace: str, section: str, tmp_path: Path) -> None:
    for file in (HERE / "files").iterdir():
        (tmp_path / file.name).write_text(file.read_text().replace("NS", namespace))
    for step in kubectl_transcript.steps(SESSION, section, version, view=view):
        words = [word.replace("NS", namespace) for word in step.words]
        output = kubectl_transcript.normalize(kubectl(*words, fails=step.fails, **step.variables), namespace)
        expected = "\n".join(step.expected).strip("\n")
        assert kubectl_transcript.matches(expected, output), f"kubectl {step.line}\n\nexpected:\n{expected}\n\nshown:\n{output}"


def test_get_watch(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    kubectl(*in_namespace, "create", "configmap", "a", "--from-literal=k=v")
    with kubectl.stream(*in_namespace, "get", "configmaps", "-w", "--output-watch-events") as lines:
        assert next(lines).split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert next(lines).split()[:3] == ["ADDED", "a", "1"]
        kubectl(*in_namespace, "create", "configmap", "b")
        assert next(lines).split()[:3] == ["ADDED", "b", "0"]
        kubectl(*in_namespace, "patch", "configmap", "b", "-p", '{"data":{"k":"v"}}')
        assert next(lines).split()[:3] == ["MODIFIED", "b", "1"]
        kubectl(*in_namespace, "delete", "configmap", "a")
        assert next(lines).split()[:3] == ["DELETED", "a", "1"]
    with kubectl.stream(*in_namespace, "get", "configmap", "b", "-w", "-o", "name") as lines:
        assert next(lines) == "configmap/b\n"
        kubectl(*in_namespace, "label", "configmap", "b", "x=y")
        assert next(lines) == "configmap/b\n"


def test_sort_by_a_field_that_table_rows_lack(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    for name, value in (("a", "3"), ("b", "1"), ("c", "2")):
        kubectl(*in_namespace, "create", "configmap", name, f"--from-literal=k={value}")
    output = kubectl(*in_namespace, "get", "configmaps", "--sort-by=.data.k", "--no-headers")
    assert [line.split()[0] for line in output.splitlines()] == ["b", "c", "a"]


def create_with_finalizer(kubectl: Kubectl, in_namespace: tuple[str, str]) -> None:
    """Creates an object with a finalizer, so that it cannot be deleted at once."""
    kubectl(*in_namespace, "create", "configmap", "a")
    kubectl(*in_namespace, "patch", "configmap", "a", "-p", '{"metadata":{"finalizers":["example.com/held"]}}')


def remove_finalizer(kubectl: Kubectl, in_namespace: tuple[str, str]) -> None:
    kubectl(*in_namespace, "patch", "configmap", "a", "-p", '{"metadata":{"finalizers":null}}')


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    create_with_finalizer(kubectl, in_namespace)
    with kubectl.stream(*in_namespace, "delete", "configmap", "a", "--wait=true", "-v=6") as lines:
        next(line for line in lines if "watch=true" in line)
        assert kubectl(*in_namespace, "get", "configmap", "a", "-o", "name") == "configmap/a\n"
        remove_finalizer(kubectl, in_namespace)
        list(lines)  # until kubectl exits
    assert "NotFound" in kubectl(*in_namespace, "get", "configmap", "a", fails=True)


def test_wait_ends_when_the_object_goes(kubectl: Kubectl, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    create_with_finalizer(kubectl, in_namespace)
    kubectl(*in_namespace, "delete", "configmap", "a", "--wait=false")
    with kubectl.stream(*in_namespace, "wait", "configmap/a", "--for=delete", "--timeout=60s", "-v=6") as lines:
        next(line for line in lines if "watch=true" in line)
        remove_finalizer(kubectl, in_namespace)
        assert next(line for line in lines if "met" in line) == "configmap/a condition met\n"


def create_owner_and_dependent(kubectl: Kubectl, in_namespace: tuple[str, str], tmp_path: Path) -> None:
    """Creates an owner and a dependent."""
    kubectl(*in_namespace, "create", "configmap", "owner")
    uid = kubectl(*in_namespace, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    dependent: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [owner]}}
    (tmp_path / "owned.json").write_text(json.dumps(dependent))
    kubectl(*in_namespace, "create", "-f", "owned.json")


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_dependents_are_deleted_with_their_owner(kubectl: Kubectl, namespace: str, tmp_path: Path, cascade: str) -> None:
    in_namespace = ("-n", namespace)
    create_owner_and_dependent(kubectl, in_namespace, tmp_path)
    kubectl(*in_namespace, "delete", "configmap", "owner", f"--cascade={cascade}", "--wait=true", "--timeout=20s")
    remaining = kubectl(*in_namespace, "get", "configmaps", "-o", "name")
    if cascade == "foreground":  # the owner was deleted last
        assert remaining == ""
    deadline = time.monotonic() + 60
    while kubectl(*in_namespace, "get", "configmaps", "-o", "name"):
        assert time.monotonic() < deadline, "the dependent was never collected"


def test_orphaned_dependents_are_kept(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    in_namespace = ("-n", namespace)
    create_owner_and_dependent(kubectl, in_namespace, tmp_path)
    kubectl(*in_namespace, "delete", "configmap", "owner", "--cascade=orphan", "--wait=true", "--timeout=20s")
    assert kubectl(*in_namespace, "get", "configmaps", "-o", "name") == "configmap/owned\n"
    assert kubectl(*in_namespace, "get", "configmap", "owned", "-o", "jsonpath={.metadata.ownerReferences}") == ""
