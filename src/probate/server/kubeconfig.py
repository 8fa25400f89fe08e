"""The file that tells clients where the server is and who they are."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from probate import errors

NAME = "probate"


class Credentials(NamedTuple):
    """What the server is known by, and what it knows the client by: certificates and a key, as PEM."""

    authority: bytes
    certificate: bytes
    key: bytes


def write(path: Path, url: str, credentials: Credentials | None = None) -> None:
    """Write it, for its owner's eyes only: it may hold a key. An older one of this name is replaced."""
    cluster: dict[str, Any] = {"server": url}
    user: dict[str, str] = {}
    if credentials is not None:
        authority, certificate, key = (base64.b64encode(one).decode() for one in credentials)
        cluster["certificate-authority-data"] = authority
        user = {"client-certificate-data": certificate, "client-key-data": key}
    elif url.startswith("http:"):
        cluster["insecure-skip-tls-verify"] = True  # says nothing new, but JavaScript's client does not speak plain HTTP without it
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    draft = path.with_name(path.name + ".new")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            yaml.safe_dump(config, file, sort_keys=False)
        draft.replace(path)
    except OSError as error:
        raise errors.CannotOpen(
            f"the kubeconfig {path} cannot be written: {error.strerror}. Name another with --kubeconfig"
        ) from error
