"""Decides which approved CertificateSigningRequests the server signs: the rules of Kubernetes' signers of client certificates.

    kubernetes.io/kube-apiserver-client            any client except members of system:masters
    kubernetes.io/kube-apiserver-client-kubelet    a node, and nothing else

The signers `kubelet-serving` and `legacy-unknown` are not supported. Their certificates are for servers, and there is one CA, by
which clients verify the API server itself: the holder of such a certificate could impersonate it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from probate.api.rbac.users import MASTERS

CLIENT, KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
LEAST_SECONDS, MOST_SECONDS = 600, 365 * 24 * 3600
_NODES, _NODE = "system:nodes", "system:node:"
_CLIENT_AUTH = "client auth"
_POSSIBLE = frozenset({"digital signature", "key encipherment", _CLIENT_AUTH})
_OF_KUBELETS = (_POSSIBLE, frozenset({"digital signature", _CLIENT_AUTH}))


class RequestedCertificate(NamedTuple):
    """A requested certificate: its subject, the request in PEM, its usages, its lifetime."""

    signer: str
    request: bytes
    usages: tuple[str, ...]
    seconds: int | None = None


class RequestSubject(NamedTuple):
    """The subject of a request. (It has one common name, if it can be signed.)"""

    names: tuple[str, ...]
    groups: tuple[str, ...] = ()
    other_names: frozenset[str] = frozenset()  # the types of SANs: DNS, Email, IP, URI


class CannotSign(Exception):
    """A request cannot be signed. The message says why."""


def check(signer: str, subject: RequestSubject, usages: tuple[str, ...]) -> None:
    """Raises `CannotSign` if the signer does not sign this request."""
    if signer not in SIGNERS:
        raise CannotSign(f"the server has no signer {signer}")
    if len(subject.names) != 1 or not subject.names[0]:
        raise CannotSign("the subject must have exactly one common name, which becomes the user name")
    if not all(part and part.isprintable() for part in (*subject.names, *subject.groups)):
        raise CannotSign("the subject has empty parts or invisible characters")
    if MASTERS in subject.groups:
        raise CannotSign(f"use of {signer} signer with {MASTERS} group is not allowed")
    why = SIGNERS[signer](subject, frozenset(usages))
    if why:
        raise CannotSign(why)


def lifetime(requested_seconds: int | None) -> int:
    """Returns the lifetime of a certificate in seconds."""
    return MOST_SECONDS if requested_seconds is None else max(LEAST_SECONDS, min(requested_seconds, MOST_SECONDS))


def _of_client(_: RequestSubject, usages: frozenset[str]) -> str:
    if not usages <= _POSSIBLE:
        return f"invalid usage for client certificate: {', '.join(sorted(usages - _POSSIBLE))}"
    return "" if _CLIENT_AUTH in usages else f"missing required usage for client certificate: {_CLIENT_AUTH}"


def _of_kubelet(subject: RequestSubject, usages: frozenset[str]) -> str:
    if subject.groups != (_NODES,):
        return f"subject organization is not {_NODES}"
    if not subject.names[0].startswith(_NODE):
        return f"subject common name does not begin with {_NODE}"
    if subject.other_names:
        return f"{', '.join(sorted(subject.other_names))} subjectAltNames are not allowed"
    return "" if usages in _OF_KUBELETS else f"usages did not match {', '.join(sorted(_POSSIBLE))}"


SIGNERS: Mapping[str, Callable[[RequestSubject, frozenset[str]], str]] = {CLIENT: _of_client, KUBELET: _of_kubelet}
"""For each signer, a function that returns why it rejects a request; empty if it signs."""
