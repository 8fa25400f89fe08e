"""Every command of docs/inspection.md works as written, on a server with TLS."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server_process import run_server

DOC = (Path(__file__).parents[2] / "docs" / "inspection.md").read_text()
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL) for line in block.splitlines()]
OBJECTS = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web-1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: UID}]}
spec: {containers: [{name: c, image: i}]}
"""
DOT = "#!/bin/sh\ngrep -q '^digraph ownership' && echo '<svg/>'\n"
"""Graphviz may not be installed. This stand-in checks that its input is a graph."""


class Shell:
    """A folder with a server, in which commands run."""

    def __init__(self, folder: Path, kubectl: Path, url: str) -> None:
        self.folder, self._url, self.uid = folder, url, ""
        programs = folder / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(kubectl)
        (programs / "dot").write_text(DOT)
        (programs / "dot").chmod(0o755)
        self._environment = {**os.environ, "HOME": str(folder), "PATH": f"{programs}:{os.environ['PATH']}"}
        self._environment.pop("KUBECONFIG", None)

    def __call__(self, command: str, text: str = "") -> str:
        command_line = command.replace("https://127.0.0.1:8080", self._url).replace("UID", self.uid)
        arguments = ["bash", "-o", "pipefail", "-c", command_line]
        result = subprocess.run(
            arguments, input=text, env=self._environment, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert result.returncode == 0, f"{command_line}: {result.stdout}{result.stderr}"
        return result.stdout


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("inspection")
    with run_server(folder, "sqlite:probate.db", "--controllers", "collector,namespaces,definitions") as server:
        (folder / "probate.kubeconfig").symlink_to(server.kubeconfig)
        shell = Shell(folder, kubectls / "1.37" / "kubectl", server.url)
        create = "kubectl --kubeconfig probate.kubeconfig create -f - -o jsonpath={.metadata.uid}"
        shell.uid = shell(create, OBJECTS)
        shell(create, POD.replace("UID", shell.uid))
        yield shell


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 7
    assert "http://127.0.0.1" not in DOC


@pytest.mark.parametrize("command", COMMANDS)
def test_command_works_with_tls(shell: Shell, command: str) -> None:
    output = shell(command)
    if "dependents" in command or "owners?" in command:
        assert '"name":"web' in output
    elif "owners.svg" in command:
        assert (shell.folder / "owners.svg").read_text() == "<svg/>\n"
    elif "debug/ownership" in command:
        assert '"name":"web-1"' in output
    elif "debug/tenants" in command:
        assert '"findings": []' in output
    else:
        assert ("probate_gc_" in output) or ("readyz check passed" in output)
