"""The file that tells clients where the server is and who they are."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from probate.core import errors, private_files

NAME = "probate"
_CONFIG = f"""\
apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:%s
users:
- name: {NAME}
  user:%s
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}
current-context: {NAME}
"""


class Credentials(NamedTuple):
    """What the server is known by, and what it knows the client by: certificates and a key, as PEM."""

    authority: bytes
    certificate: bytes
    key: bytes


def write(path: Path, url: str, credentials: Credentials | None = None) -> None:
    """Write it, for its owner's eyes only: it may hold a key. An older one of this name is replaced."""
    try:
        # A name of its own: another server may write the same file at the same time.
        file, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
        try:
            with os.fdopen(file, "w") as out:
                os.fchmod(out.fileno(), private_files.FILE)  # whatever the umask
                out.write(_text(url, credentials))
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise errors.CannotOpen(
            f"the kubeconfig {path} cannot be written: {error.strerror}. Name another with --kubeconfig"
        ) from error


def _text(url: str, credentials: Credentials | None) -> str:
    """What is in it. (To load what writes YAML takes longer than all else that a start does with the file.)"""
    cluster, user = {"server": url}, dict[str, str]()
    if credentials is not None:
        authority, certificate, key = (base64.b64encode(one).decode() for one in credentials)
        cluster["certificate-authority-data"] = authority
        user = {"client-certificate-data": certificate, "client-key-data": key}
    elif url.startswith("http:"):
        cluster["insecure-skip-tls-verify"] = "true"  # says nothing new, but JavaScript's client wants it to speak plain HTTP
    return _CONFIG % (_fields(cluster), _fields(user))


def _fields(values: dict[str, str]) -> str:
    """As YAML. The values are addresses and base64, which need no quotes."""
    return "".join(f"\n    {name}: {value}" for name, value in values.items()) or " {}"
