"""Reads and writes objects by plain HTTP, so that tests check the server without any client library in between."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

TIMEOUT_SECONDS = 90.0
"""Seconds until an event that does not happen is a failure."""


def ssl_context(kubeconfig: Path) -> ssl.SSLContext:
    """Returns a TLS context with the CA and the client certificate of a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    [cluster], [user] = config["clusters"], config["users"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode())
    pem = kubeconfig.with_suffix(".pem")  # OpenSSL reads these from files only
    pem.write_bytes(b"\n".join(base64.b64decode(user["user"][f"client-{part}-data"]) for part in ("certificate", "key")))
    context.load_cert_chain(pem)
    return context


class NamespaceClient:
    """Accesses one namespace of one server."""

    def __init__(self, url: str, kubeconfig: Path, namespace: str) -> None:
        self._client = httpx.Client(base_url=url, verify=ssl_context(kubeconfig), timeout=60.0)
        self.kubeconfig, self.namespace = kubeconfig, namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def create_namespace(self) -> None:
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def path(self, plural: str, name: str = "") -> str:
        """Returns the path of a resource such as `pods` or `apps/v1/deployments`."""
        group, _, resource = plural.rpartition("/")
        prefix = f"/apis/{group}" if group else "/api/v1"
        return f"{prefix}/namespaces/{self.namespace}/{resource}/{name}".rstrip("/")

    def get(self, plural: str, name: str) -> Any:
        return self.ask("GET", self.path(plural, name)).json()

    def names(self, plural: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.all(plural)]

    def all(self, plural: str) -> list[Any]:
        return list(self.ask("GET", self.path(plural)).json()["items"])

    def ask(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> httpx.Response:
        """Sends a request. Raises if the response is an error."""
        return self._client.request(method, path, json=body, headers={"Content-Type": content_type}).raise_for_status()

    def wait_until(self, what: str, condition: Callable[[], Any]) -> Any:
        """Repeats the condition until it is true, and returns its result. An unreachable server counts as false."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                if result := condition():
                    return result
            except (httpx.HTTPStatusError, httpx.TransportError):
                result = None
            assert time.monotonic() < deadline, f"{what}: did not happen in time"
            time.sleep(0.05)
