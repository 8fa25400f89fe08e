"""Builds certificate signing requests, valid and invalid ones."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

CLIENT, KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
NAME, GROUP, UNIT = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME

PEM = b"""-----BEGIN CERTIFICATE REQUEST-----
MIHIMHACAQAwDjEMMAoGA1UEAwwDYW5uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAE4cERP7GrZF94cLoMSetzG7NGrhjqUU/paf1ImgE6o0jsx56K8BQE7SYPzzB4
Zf8QsMTTYYB2eyFBM+uclqPyW6AAMAoGCCqGSM49BAMCA0gAMEUCIQC+ZVUB7zmS
BgjAaYVHVm+J0l3R9YEUGYbUYV0J5K7oagIgOoM7rApWu6pn7nb7BYzy1+x8Wv9J
A2SLVMCMZBdllE4=
-----END CERTIFICATE REQUEST-----
"""
ENCODED = base64.b64encode(PEM).decode()
SPEC = {"request": ENCODED, "signerName": "example.com/signer", "usages": ["client auth"]}
"""The spec of a request that any signer can read."""


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def subject(name: str, *groups: str) -> x509.Name:
    parts = [(GROUP, group) for group in groups] + ([(NAME, name)] if name else [])
    return x509.Name([x509.NameAttribute(oid, text, _validate=False) for oid, text in parts])


def csr_pem(subject_name: x509.Name, key: Any = None, extensions: Sequence[x509.ExtensionType] = ()) -> bytes:
    """Returns a certificate signing request as PEM."""
    builder = x509.CertificateSigningRequestBuilder(subject_name)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    key = key or new_key()
    digest = hashes.SHA256() if hasattr(key, "curve") or hasattr(key, "key_size") else None
    return builder.sign(key, digest).public_bytes(Encoding.PEM)


def csr_object(pem: bytes, name: str = "x", *, signer: str = CLIENT, usages: Sequence[str] = ("client auth",), **spec: Any) -> Any:
    """Returns the CertificateSigningRequest object."""
    fields = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": list(usages), **spec}
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name}, "spec": fields}


def key_pem(key: Any) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
