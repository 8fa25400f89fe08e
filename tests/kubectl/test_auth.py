"""`kubectl auth whoami` and `kubectl auth can-i`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kubectl_program import Kubectl


@pytest.fixture
def kubectl(kubectls: Path, kubeconfig: Path, homes: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(kubectls / "1.37" / "kubectl", kubeconfig, homes / "1.37", folder=tmp_path)


@pytest.fixture
def version() -> str:
    return "1.37"


def test_whoami_and_can_i(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "rolebinding", "ann", "--clusterrole=view", "--user=ann", "-n", namespace)
    ann = ("--as", "ann", "--as-group", "staff", "-n", namespace)
    assert "ann" in kubectl("auth", "whoami", *ann)
    assert "[staff system:authenticated]" in kubectl("auth", "whoami", *ann)
    assert kubectl("auth", "can-i", "list", "pods", *ann) == "yes\n"
    assert kubectl("auth", "can-i", "delete", "pods", *ann, fails=True) == "no\n"
    assert kubectl("auth", "can-i", "get", "/metrics", *ann, fails=True).endswith("no\n")
    assert kubectl("auth", "can-i", "*", "*", "-A") == "yes\n"
    permissions = kubectl("auth", "can-i", "--list", *ann)
    assert "pods/log" in permissions
    assert "/version" in permissions
    output = kubectl("create", "configmap", "x", *ann, fails=True)
    expected = f'cannot create resource "configmaps" in API group "" in the namespace "{namespace}"'
    assert expected in output
