"""Warns about Nodes, ServiceAccounts, Secrets, RuntimeClasses, CustomResourceDefinitions and custom resources."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from probate.api.crds import layout
from probate.api.field_errors import FieldPath
from probate.api.structural import formats
from probate.core import work_limits
from probate.kinds.shared import ip_address_warnings, node_label_warnings
from probate.kinds.shared.field_checks import Value, child, text, texts

KEY_CHECK_COST = 25_000
"""The approximate number of steps to load the cryptography library and parse a private key: too many for the event loop."""
_ANNOTATIONS = FieldPath("metadata.annotations")
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_OWN_FINALIZERS = frozenset({"orphan", "foregroundDeletion"})
_BRANCHES, _MAPS, _LISTS = ("items", "additionalProperties", "not"), ("properties",), ("allOf", "anyOf", "oneOf")


def of_node(node: Value) -> Iterator[str]:
    """Yields the warnings about a Node."""
    spec = child(node, "spec")
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and nothing uses it"
    if spec.get("configSource") is not None:
        yield "spec.configSource: nothing reads it any more: the feature was removed"
    for index, range_ in enumerate(texts(spec, "podCIDRs")):
        yield from ip_address_warnings.of_cidr(range_, FieldPath("spec.podCIDRs") / index)


def of_account(account: Value) -> Iterator[str]:
    """Yields the warnings about a new ServiceAccount."""
    if _MOUNTABLE in child(account["metadata"], "annotations"):
        yield f"{_ANNOTATIONS @ _MOUNTABLE}: deprecated in v1.32+; prefer separate namespaces to keep mounted secrets apart"


def of_changed_account(new: Value, old: Value) -> Iterator[str]:
    """Yields the warnings about a ServiceAccount that has changed."""
    if _MOUNTABLE not in child(old["metadata"], "annotations"):
        yield from of_account(new)


def of_runtime_class(class_: Value) -> Iterator[str]:
    """Yields the warnings about a RuntimeClass."""
    for key in child(child(class_, "scheduling"), "nodeSelector"):
        if key in node_label_warnings.DEPRECATED:
            yield f"scheduling.nodeSelector: {node_label_warnings.DEPRECATED[key]}"


def of_secret(secret: Value) -> Iterator[str]:
    """Yields the warnings about a TLS Secret whose certificate and key a server could not use.

    The warnings never contain secret data.
    """
    if secret.get("type") == "kubernetes.io/tls":
        work_limits.spend(KEY_CHECK_COST)
        data = child(secret, "data")
        why = _mismatch(_decoded(data, "tls.crt"), _decoded(data, "tls.key"))
        if why:
            yield f"tls: {why}"


def _decoded(data: Value, name: str) -> bytes:
    try:
        return base64.b64decode(text(data, name))
    except (ValueError, binascii.Error):
        return b""


def _mismatch(certificate: bytes, key: bytes) -> str:
    """Returns why the certificate and the key cannot be used together; empty if they can."""
    from cryptography import exceptions, x509  # noqa: PLC0415 slow to load
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    unreadable = (ValueError, TypeError, exceptions.UnsupportedAlgorithm)
    try:
        certified = x509.load_pem_x509_certificate(certificate).public_key()
    except unreadable:
        return "tls.crt contains no readable certificate"
    try:
        own = load_pem_private_key(key, None, unsafe_skip_rsa_key_validation=True).public_key()
    except unreadable:
        return "tls.key contains no readable private key"
    return "" if own == certified else "private key does not match public key: tls.key is not the key of tls.crt"


def of_definition(crd: Value) -> Iterator[str]:
    """Yields the warnings about a CustomResourceDefinition: formats that are not validated."""
    for part in layout.version_parts(crd, "schema"):
        yield from _of_schema(child(part.value, "openAPIV3Schema"), part.path / "openAPIV3Schema")


def _of_schema(schema: Value, path: FieldPath) -> Iterator[str]:
    format_ = text(schema, "format")
    if format_ and schema.get("type") == "string" and formats.test_of(format_) is None:
        yield f'{path / "format"}: unrecognized format "{format_}": strings are not validated against it'
    for inner, at in _inside(schema, path):
        if isinstance(inner, dict):
            yield from _of_schema(inner, at)


def _inside(schema: Value, path: FieldPath) -> Iterator[tuple[object, FieldPath]]:
    for name in _BRANCHES:
        yield schema.get(name), path / name
    for name in _MAPS:
        yield from ((inner, (path / name) @ key) for key, inner in child(schema, name).items())
    for name in _LISTS:
        yield from ((inner, path / name / index) for index, inner in enumerate(schema.get(name) or ()))


def of_custom(new: Value, old: Value | None = None) -> Iterator[str]:
    """Yields the warnings about a custom resource: new finalizers whose names lack a domain and so may conflict."""
    before = frozenset(texts(old["metadata"], "finalizers")) if old else frozenset()
    for finalizer in sorted(set(texts(new["metadata"], "finalizers")) - before - _OWN_FINALIZERS):
        if "/" not in finalizer:
            yield f'metadata.finalizers: "{finalizer}": prefer a domain-qualified name including a path (/) to avoid conflicts'
