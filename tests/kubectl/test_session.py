"""The session in session.txt with the kubectl of each version, and what cannot be written down in order: what happens meanwhile."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from support import kubectl_transcript as script
from support.kubectl_program import Kubectl

HERE = Path(__file__).parent
SESSION = HERE / "session.txt"


@pytest.mark.parametrize("section", script.sections(SESSION))
def test_session_shows_what_is_written_down(kubectl: Kubectl, version: str, namespace: str, section: str, tmp_path: Path) -> None:
    for file in (HERE / "files").iterdir():
        (tmp_path / file.name).write_text(file.read_text().replace("NS", namespace))
    for step in script.steps(SESSION, section, version):
        words = [word.replace("NS", namespace) for word in step.words]
        shown = script.blurred(kubectl(*words, fails=step.fails, **step.variables), namespace)
        expected = "\n".join(step.expected).strip("\n")
        assert script.matches(expected, shown), f"kubectl {step.line}\n\nexpected:\n{expected}\n\nshown:\n{shown}"


def test_changes_are_watched_as_they_happen(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    kubectl(*here, "create", "configmap", "a", "--from-literal=k=v")
    with kubectl.following(*here, "get", "configmaps", "-w", "--output-watch-events") as lines:
        assert next(lines).split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert next(lines).split()[:3] == ["ADDED", "a", "1"]
        kubectl(*here, "create", "configmap", "b")
        assert next(lines).split()[:3] == ["ADDED", "b", "0"]
        kubectl(*here, "patch", "configmap", "b", "-p", '{"data":{"k":"v"}}')
        assert next(lines).split()[:3] == ["MODIFIED", "b", "1"]
        kubectl(*here, "delete", "configmap", "a")
        assert next(lines).split()[:3] == ["DELETED", "a", "1"]
    with kubectl.following(*here, "get", "configmap", "b", "-w", "-o", "name") as lines:
        assert next(lines) == "configmap/b\n"
        kubectl(*here, "label", "configmap", "b", "x=y")
        assert next(lines) == "configmap/b\n"


def test_rows_are_sorted_by_what_only_whole_objects_have(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    for name, value in (("a", "3"), ("b", "1"), ("c", "2")):
        kubectl(*here, "create", "configmap", name, f"--from-literal=k={value}")
    shown = kubectl(*here, "get", "configmaps", "--sort-by=.data.k", "--no-headers")
    assert [line.split()[0] for line in shown.splitlines()] == ["b", "c", "a"]


def held(kubectl: Kubectl, here: tuple[str, str]) -> None:
    """An object that is to go, and cannot."""
    kubectl(*here, "create", "configmap", "a")
    kubectl(*here, "patch", "configmap", "a", "-p", '{"metadata":{"finalizers":["example.com/held"]}}')


def let_go(kubectl: Kubectl, here: tuple[str, str]) -> None:
    kubectl(*here, "patch", "configmap", "a", "-p", '{"metadata":{"finalizers":null}}')


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    held(kubectl, here)
    with kubectl.following(*here, "delete", "configmap", "a", "--wait=true", "-v=6") as lines:
        next(line for line in lines if "watch=true" in line)
        assert kubectl(*here, "get", "configmap", "a", "-o", "name") == "configmap/a\n"
        let_go(kubectl, here)
        list(lines)  # it ends
    assert "NotFound" in kubectl(*here, "get", "configmap", "a", fails=True)


def test_wait_ends_when_the_object_goes(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    held(kubectl, here)
    kubectl(*here, "delete", "configmap", "a", "--wait=false")
    with kubectl.following(*here, "wait", "configmap/a", "--for=delete", "--timeout=60s", "-v=6") as lines:
        next(line for line in lines if "watch=true" in line)
        let_go(kubectl, here)
        assert next(line for line in lines if "met" in line) == "configmap/a condition met\n"


def family(kubectl: Kubectl, here: tuple[str, str], tmp_path: Path) -> None:
    """An owner, and one whom it owns."""
    kubectl(*here, "create", "configmap", "owner")
    uid = kubectl(*here, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    owned: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [owner]}}
    (tmp_path / "owned.json").write_text(json.dumps(owned))
    kubectl(*here, "create", "-f", "owned.json")


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_dependents_go_with_their_owner(kubectl: Kubectl, namespace: str, tmp_path: Path, cascade: str) -> None:
    here = ("-n", namespace)
    family(kubectl, here, tmp_path)
    kubectl(*here, "delete", "configmap", "owner", f"--cascade={cascade}", "--wait=true", "--timeout=20s")
    left = kubectl(*here, "get", "configmaps", "-o", "name")
    if cascade == "foreground":  # the owner went last
        assert left == ""
    deadline = time.monotonic() + 60
    while kubectl(*here, "get", "configmaps", "-o", "name"):
        assert time.monotonic() < deadline, "the dependent was never collected"


def test_dependents_of_a_deleted_owner_stay_when_they_are_to_be_orphans(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    here = ("-n", namespace)
    family(kubectl, here, tmp_path)
    kubectl(*here, "delete", "configmap", "owner", "--cascade=orphan", "--wait=true", "--timeout=20s")
    assert kubectl(*here, "get", "configmaps", "-o", "name") == "configmap/owned\n"
    assert kubectl(*here, "get", "configmap", "owned", "-o", "jsonpath={.metadata.ownerReferences}") == ""
