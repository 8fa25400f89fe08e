"""Reads from kubeconfig files how to reach a server, and as whom: what commands need to send requests.

Supported are client certificates, tokens and files of them; and for the server its address, its authority and `tls-server-name`.
What a file asks for beyond that, such as a credential plugin or a proxy, is refused, because a request without it would act as
somebody else or go elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from probate.api.objects import Object
from probate.api.serialization import yaml_documents
from probate.core import errors

LOCAL_FILE = "probate.kubeconfig"
"""The file that `probate serve` writes to the current folder."""
_UNSUPPORTED = {
    "clusters": {"proxy-url": "a proxy"},
    "users": {
        "exec": "a credential plugin",
        "auth-provider": "an authentication provider",
        "username": "a password, which Probate's servers do not accept",
        "as": "impersonation",
        "as-uid": "impersonation",
        "as-groups": "impersonation",
        "as-user-extra": "impersonation",
    },
}


class ServerAccess(NamedTuple):
    """How to reach a server, and the credentials to send. Certificates and the key are PEM; what is empty is not used.

    `source` says where this comes from, for messages. If `token_file` is given, its content is the token, whenever it is read.
    """

    url: str
    source: str
    authority: bytes = b""
    is_verified: bool = True
    server_name: str = ""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    token_file: str = ""


class _Entry(NamedTuple):
    """A cluster, user or context of a kubeconfig file. Paths in it are relative to `folder`."""

    folder: Path
    title: str
    fields: Mapping[str, Any]

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if value is not None and not isinstance(value, str):
            raise errors.CannotOpen(f"{self.title}: the field {field} is not a text")
        return value or ""

    def content(self, field: str) -> bytes:
        """Returns the content of the field with the suffix -data, or of the file that the field names."""
        try:
            if data := self.text(f"{field}-data"):
                return base64.b64decode(data, validate=True)
            path = self.text(field)
            return (self.folder / path).read_bytes() if path else b""
        except binascii.Error:
            raise errors.CannotOpen(f"{self.title}: the field {field}-data is not base64") from None
        except OSError as error:
            raise errors.CannotOpen(f"{self.title}: the file {path} cannot be read: {error.strerror}") from None


def find_files(option: str, environment: Mapping[str, str]) -> list[Path]:
    """Returns the kubeconfig files to read: that of the option, else those of KUBECONFIG, else the first that exists by default."""
    if option:
        return [Path(option)]
    named = [Path(path) for path in environment.get("KUBECONFIG", "").split(":") if path]
    default = Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"
    candidates = named or [path for path in (Path(LOCAL_FILE), default) if path.exists()][:1]
    if not candidates:
        raise errors.CannotOpen(
            f"there is no kubeconfig: neither ./{LOCAL_FILE} nor {default} exists. Give one with --kubeconfig or $KUBECONFIG"
        )
    if not (existing := [path for path in candidates if path.exists()]):
        raise errors.CannotOpen(f"the kubeconfig {', '.join(map(str, candidates))} of $KUBECONFIG does not exist")
    return existing


def read_access(files: Sequence[Path], context: str = "") -> ServerAccess:
    """Returns what a context of the files says; their current context, if none is named. Of equal names, the first counts."""
    configs = [(path, _read_file(path)) for path in files]
    name = context or next((str(config["current-context"]) for _, config in configs if config.get("current-context")), "")
    where = ", ".join(map(str, files))
    if not name:
        raise errors.CannotOpen(f"the kubeconfig {where} has no current-context. Name a context with --context")
    chosen = _entry(configs, "contexts", name)
    cluster, user_name = _entry(configs, "clusters", chosen.text("cluster")), chosen.text("user")
    user = _entry(configs, "users", user_name) if user_name else _Entry(Path(), "", {})
    access = ServerAccess(cluster.text("server").rstrip("/"), f'the context "{name}" of {where}')
    return _with_user(_with_cluster(access, cluster), user)


def _with_cluster(access: ServerAccess, cluster: _Entry) -> ServerAccess:
    if not access.url.startswith(("http://", "https://")):
        raise errors.CannotOpen(f"{cluster.title}: the server {access.url!r} is not an address such as https://127.0.0.1:6443")
    return access._replace(
        authority=cluster.content("certificate-authority"),
        is_verified=str(cluster.fields.get("insecure-skip-tls-verify", "")).lower() != "true",
        server_name=cluster.text("tls-server-name"),
    )


def _with_user(access: ServerAccess, user: _Entry) -> ServerAccess:
    certificate, key = user.content("client-certificate"), user.content("client-key")
    if bool(certificate) != bool(key):
        raise errors.CannotOpen(f"{user.title}: a client certificate needs its key, and a key its certificate")
    token_file = user.text("tokenFile")
    path = str(user.folder / token_file) if token_file else ""
    return access._replace(certificate=certificate, key=key, token=user.text("token"), token_file=path)


def _read_file(path: Path) -> Object:
    try:
        content, _ = yaml_documents.parse(path.read_bytes())
    except OSError as error:
        raise errors.CannotOpen(f"the kubeconfig {path} cannot be read: {error.strerror}") from None
    except errors.BadRequest as error:
        raise errors.CannotOpen(f"the kubeconfig {path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise errors.CannotOpen(f"the kubeconfig {path} is not a YAML object")
    return content


def _entry(configs: Sequence[tuple[Path, Object]], section: str, name: str) -> _Entry:
    """Returns a named entry of a section: the first of its name. Raises `CannotOpen` if it has a field that is not supported."""
    kind = section.removesuffix("s")
    for path, config in configs:
        for item in _items(config, section):
            if item.get("name") == name:
                fields = item.get(kind) or {}
                for field, what in _UNSUPPORTED.get(section, {}).items():
                    if fields.get(field):
                        raise errors.CannotOpen(
                            f'the {kind} "{name}" in {path} asks for {what} ({field}), which this command does not support. '
                            "Use a context with a client certificate or a token"
                        )
                return _Entry(path.parent, f'the {kind} "{name}" in {path}', fields)
    where = ", ".join(str(path) for path, _ in configs)
    known = sorted(str(item.get("name")) for _, config in configs for item in _items(config, section))
    raise errors.CannotOpen(f'there is no {kind} "{name}" in {where}, only {", ".join(known) or "none"}')


def _items(config: Object, section: str) -> list[Object]:
    listed = config.get(section)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
