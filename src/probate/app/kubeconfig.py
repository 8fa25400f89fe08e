"""Writes kubeconfigs: the server's URL, and the credentials of the administrator or of a tenant's user."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from probate.core import errors, private_files

NAME = "probate"
_CONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:{cluster}
users:
- name: {name}
  user:{user}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {name}
current-context: {name}
"""


class Credentials(NamedTuple):
    """The certificate to verify the server with, and the client's certificate and key, in PEM format."""

    authority: bytes
    certificate: bytes
    key: bytes


def write(path: Path, url: str, credentials: Credentials | None = None) -> None:
    """Writes the kubeconfig so that only its owner may read it, since it may contain a key. Replaces an existing file."""
    try:
        # A unique name: another server may write the same file at the same time.
        file, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
        try:
            with os.fdopen(file, "w") as out:
                os.fchmod(out.fileno(), private_files.FILE_MODE)  # regardless of the umask
                out.write(text(url, credentials))
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise errors.CannotOpen(
            f'the kubeconfig {path} cannot be written: {error.strerror}. Give another file with --kubeconfig, or "" for none'
        ) from error


def text(url: str, credentials: Credentials | None, *, name: str = NAME) -> str:
    """Returns a kubeconfig. `name` names everything in it, and needs no quotes in YAML.

    (Importing a YAML library would take longer than everything else that a start does with it.)
    """
    cluster, user = {"server": url}, dict[str, str]()
    if credentials is not None:
        authority, certificate, key = (base64.b64encode(pem).decode() for pem in credentials)
        cluster["certificate-authority-data"] = authority
        user = {"client-certificate-data": certificate, "client-key-data": key}
    elif url.startswith("http:"):
        cluster["insecure-skip-tls-verify"] = "true"  # no effect on HTTP, but the JavaScript client requires it
    return _CONFIG.format(name=name, cluster=_fields(cluster), user=_fields(user))


def _fields(values: dict[str, str]) -> str:
    """Returns YAML. The values are URLs and base64, which need no quotes."""
    return "".join(f"\n    {name}: {value}" for name, value in values.items()) or " {}"
