"""What is there, asked by HTTP alone: no client of anybody's stands between the server and what a test says of it."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

PATIENCE = 90.0
"""Seconds until something that does not happen is a failure."""


def trusting(kubeconfig: Path) -> ssl.SSLContext:
    """Who the server is and who the client is, as a kubeconfig has it."""
    config = yaml.safe_load(kubeconfig.read_text())
    [cluster], [user] = config["clusters"], config["users"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode())
    pem = kubeconfig.with_suffix(".pem")  # OpenSSL reads these from files only
    pem.write_bytes(b"\n".join(base64.b64decode(user["user"][f"client-{part}-data"]) for part in ("certificate", "key")))
    context.load_cert_chain(pem)
    return context


class Look:
    """Looks at one namespace of one server."""

    def __init__(self, url: str, kubeconfig: Path, namespace: str) -> None:
        self._client = httpx.Client(base_url=url, verify=trusting(kubeconfig), timeout=60.0)
        self.namespace = namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def make_namespace(self) -> None:
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def path(self, plural: str, name: str = "") -> str:
        """Of a kind such as `pods` or `apps/v1/deployments`."""
        group, _, resource = plural.rpartition("/")
        prefix = f"/apis/{group}" if group else "/api/v1"
        return f"{prefix}/namespaces/{self.namespace}/{resource}/{name}".rstrip("/")

    def get(self, plural: str, name: str) -> Any:
        return self.ask("GET", self.path(plural, name)).json()

    def names(self, plural: str) -> list[str]:
        return [one["metadata"]["name"] for one in self.all(plural)]

    def all(self, plural: str) -> list[Any]:
        return list(self.ask("GET", self.path(plural)).json()["items"])

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> httpx.Response:
        """An answer that is no refusal."""
        return self._client.request(method, path, json=body, headers={"Content-Type": content_type}).raise_for_status()

    def until(self, what: str, look: Callable[[], Any]) -> Any:
        """Look again and again until there is something to be seen. A server that is just not there is nothing to be seen."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if found := look():
                    return found
            except (httpx.HTTPStatusError, httpx.TransportError):
                found = None
            assert time.monotonic() < deadline, f"{what}: it did not come to that"
            time.sleep(0.05)
