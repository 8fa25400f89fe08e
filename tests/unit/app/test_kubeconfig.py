"""The kubeconfig that the server writes for clients."""

from __future__ import annotations

from pathlib import Path

import yaml

from probate.app import kubeconfig


def test_javascript_client_refused_plain_http(tmp_path: Path) -> None:
    kubeconfig.write(tmp_path / "config", "http://127.0.0.1:8080")
    [cluster] = yaml.safe_load((tmp_path / "config").read_text())["clusters"]
    assert cluster["cluster"] == {"server": "http://127.0.0.1:8080", "insecure-skip-tls-verify": True}


def test_certificate_is_verified_over_https(tmp_path: Path) -> None:
    kubeconfig.write(tmp_path / "config", "https://127.0.0.1:8443")
    [cluster] = yaml.safe_load((tmp_path / "config").read_text())["clusters"]
    assert cluster["cluster"] == {"server": "https://127.0.0.1:8443"}
