"""The file that tells clients where the server is and who they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from probate import errors

NAME = "probate"


def write(path: Path, url: str) -> None:
    """Write it, for its owner's eyes only: later it will hold a key. An older one of this name is replaced."""
    cluster: dict[str, Any] = {"server": url}
    if url.startswith("http:"):
        cluster["insecure-skip-tls-verify"] = True  # says nothing new, but JavaScript's client does not speak plain HTTP without it
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    draft = path.with_name(path.name + ".new")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            yaml.safe_dump(config, file, sort_keys=False)
        draft.replace(path)
    except OSError as error:
        raise errors.CannotOpen(
            f"the kubeconfig {path} cannot be written: {error.strerror}. Name another with --kubeconfig"
        ) from error
