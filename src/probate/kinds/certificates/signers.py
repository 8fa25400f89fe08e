"""Which requests for certificates the server signs, once somebody has approved them: the rules of Kubernetes' signers of clients.

    kubernetes.io/kube-apiserver-client            anybody but a master
    kubernetes.io/kube-apiserver-client-kubelet    a node, and nothing else

The signers `kubelet-serving` and `legacy-unknown` are not here. Their certificates are for servers, and there is one authority, by
which clients know the API server itself: whoever got such a certificate could pass for it.
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


class Wanted(NamedTuple):
    """A certificate that was asked for: of whom, how (PEM), for which usages, for how long."""

    signer: str
    request: bytes
    usages: tuple[str, ...]
    seconds: int | None = None


class Asked(NamedTuple):
    """What a request says about its author. (It has one name, if it is fit to be signed.)"""

    names: tuple[str, ...]
    groups: tuple[str, ...] = ()
    other_names: frozenset[str] = frozenset()  # the kinds of them: DNS, Email, IP, URI


class Unfit(Exception):
    """Why a request is not signed."""


def check(signer: str, asked: Asked, usages: tuple[str, ...]) -> None:
    """`Unfit` if the signer does not sign this."""
    if signer not in SIGNERS:
        raise Unfit(f"there is no signer {signer} here")
    if len(asked.names) != 1 or not asked.names[0]:
        raise Unfit("the subject has to have one common name: that is the user")
    if not all(part and part.isprintable() for part in (*asked.names, *asked.groups)):
        raise Unfit("the subject has empty parts, or characters that nobody can see")
    if MASTERS in asked.groups:
        raise Unfit(f"use of {signer} signer with {MASTERS} group is not allowed")
    why = SIGNERS[signer](asked, frozenset(usages))
    if why:
        raise Unfit(why)


def lifetime(wanted: int | None) -> int:
    """For how many seconds a certificate is."""
    return MOST_SECONDS if wanted is None else max(LEAST_SECONDS, min(wanted, MOST_SECONDS))


def _of_client(_: Asked, usages: frozenset[str]) -> str:
    if not usages <= _POSSIBLE:
        return f"invalid usage for client certificate: {', '.join(sorted(usages - _POSSIBLE))}"
    return "" if _CLIENT_AUTH in usages else f"missing required usage for client certificate: {_CLIENT_AUTH}"


def _of_kubelet(asked: Asked, usages: frozenset[str]) -> str:
    if asked.groups != (_NODES,):
        return f"subject organization is not {_NODES}"
    if not asked.names[0].startswith(_NODE):
        return f"subject common name does not begin with {_NODE}"
    if asked.other_names:
        return f"{', '.join(sorted(asked.other_names))} subjectAltNames are not allowed"
    return "" if usages in _OF_KUBELETS else f"usages did not match {', '.join(sorted(_POSSIBLE))}"


SIGNERS: Mapping[str, Callable[[Asked, frozenset[str]], str]] = {CLIENT: _of_client, KUBELET: _of_kubelet}
"""What each has against a request; nothing if it signs."""
