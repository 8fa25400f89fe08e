"""The supply chain tools find unlocked packages, known vulnerabilities, and secrets."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from support.oidc_issuer import IssuerKey

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, **variables: str) -> tuple[int, str]:
    environment = os.environ | variables
    completed = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False, env=environment)
    return completed.returncode, completed.stdout + completed.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the lock files and of what they lock."""
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    for name in ("pyproject.toml", "tools/lock.py", "tests/clients/requirements.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def replace_in(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def line_of(lock: Path, name: str) -> str:
    return next(line for line in lock.read_text().splitlines() if line.startswith(f"{name}=="))


class TestLock:
    """`tools/lock.py --check`."""

    def check(self, project: Path) -> tuple[int, str]:
        return run(project / "tools" / "lock.py", "--check")

    def test_locked_packages_are_installed(self, project: Path) -> None:
        assert self.check(project) == (0, "")

    def test_new_dependency_is_not_locked(self, project: Path) -> None:
        replace_in(project / "pyproject.toml", '"click>=8.1"', '"click>=8.1", "leftpad"')
        assert "run-and-test.txt does not have leftpad" in self.check(project)[1]

    def test_newer_dependency_is_not_locked(self, project: Path) -> None:
        replace_in(project / "pyproject.toml", '"click>=8.1"', '"click>=800"')
        code, output = self.check(project)
        assert code == 1
        assert "and click>=800 is asked for" in output

    def test_another_version_is_installed(self, project: Path) -> None:
        lock = project / "locks" / "run-and-test.txt"
        replace_in(lock, line_of(lock, "idna"), "idna==1.0 \\")
        assert "is installed, and 1.0 is locked" in self.check(project)[1]

    def test_missing_transitive_dependency_is_found(self, project: Path) -> None:
        lock = project / "locks" / "run-and-test.txt"
        lock.write_text(re.sub(r"\nidna==[^\n]*(\n +--hash=[^\n]*)+", "", lock.read_text()))
        code, output = self.check(project)
        assert code == 1
        assert re.search("^idna, which .* needs, is not locked", output)

    @pytest.mark.parametrize(
        "line", ["leftpad==1.0", "leftpad>=1.0", "--extra-index-url https://elsewhere/simple", "leftpad @ https://elsewhere/l.whl"]
    )
    def test_lines_without_hashes_or_from_other_indexes_are_refused(self, project: Path, line: str) -> None:
        lock = project / "locks" / "build.txt"
        lock.write_text(f"{lock.read_text()}{line}\n")
        code, output = self.check(project)
        assert code == 1
        assert "lines that are not one package in one version with its hashes" in output


class TestAudit:
    """`tools/audit.py`, with a fake pip-audit and a fake service."""

    def audit(self, folder: Path, answer: str, service: str = '{"vulnerabilities": []}') -> tuple[int, str]:
        (folder / "service.json").write_text(service)
        program = folder / "bin" / "pip-audit"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\nprint({answer!r})\n")
        program.chmod(0o755)
        return run(ROOT / "tools" / "audit.py", folder, PROBATE_AUDIT_SERVICE=(folder / "service.json").as_uri())

    def test_no_known_vulnerabilities(self, tmp_path: Path) -> None:
        code, output = self.audit(tmp_path, json.dumps({"dependencies": [{"name": "x", "version": "1", "vulns": []}]}))
        assert code == 0
        assert "nothing is known against 1 packages" in output

    def test_known_vulnerability_fails(self, tmp_path: Path) -> None:
        one = {"name": "x", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
        code, output = self.audit(tmp_path, json.dumps({"dependencies": [one]}))
        assert code == 1
        assert "x 1 is vulnerable: PYSEC-1" in output

    @pytest.mark.parametrize("answer", ["", json.dumps({"dependencies": [{"name": "x", "skip_reason": "not found"}]})])
    def test_incomplete_report_does_not_fail(self, tmp_path: Path, answer: str) -> None:
        code, output = self.audit(tmp_path, answer)
        assert code == 0
        assert "nobody could be asked" in output

    def test_unreachable_service_does_not_fail(self, tmp_path: Path) -> None:
        code, output = self.audit(tmp_path, "", "nonsense")
        assert code == 0
        assert "does not answer: nobody could be asked" in output


class TestSecrets:
    """`tools/find-secrets.py`."""

    def test_repository_has_no_secrets(self) -> None:
        assert run(ROOT / "tools" / "find-secrets.py") == (0, "")

    def test_secrets_of_each_kind_are_found(self, tmp_path: Path) -> None:
        pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        samples = [pem, IssuerKey("one").token({"sub": "ann"}), "authorization: Bearer " + "q" * 43, "ghp_" + "a" * 36]
        samples.append(f"client-key-data: {base64.b64encode(pem.encode()).decode()}")
        for number, sample in enumerate(samples):
            (tmp_path / str(number)).write_text(f"first\n{sample}\n")
            code, output = run(ROOT / "tools" / "find-secrets.py", tmp_path / str(number))
            assert code == 1, sample
            assert f"{number}:2: a " in output
            assert sample[-20:] not in output  # the secret itself is not printed
