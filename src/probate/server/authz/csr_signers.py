"""Certificates: who asks for one is who they are, and who approves or signs one needs a right to the signer.

A request tells who made it, which is for the server to say: whoever approves it believes that. To approve takes `approve`, to sign
`sign`, to vouch for a bundle `attest`, each of the signer by its name or of its whole domain (`example.com/*`), as in Kubernetes.
Nobody can even ask to become a master: the signer of clients would not sign it.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.users import MASTERS, User
from probate.kinds.certificates import signers
from probate.lib.x509 import certificates
from probate.server import api_errors
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

GROUP = "certificates.k8s.io"
REQUESTS = "certificatesigningrequests"
_BUNDLES = "clustertrustbundles"
_SAID = ("username", "uid", "groups", "extra")
_SIGNED = ("certificate", "conditions")


def without_author(at: Target, object_: Object) -> Object:
    """A new request for a certificate less what it says about who has made it."""
    spec = object_.get("spec")
    if at.resource.plural != REQUESTS or not isinstance(spec, dict):
        return object_
    return {**object_, "spec": {name: value for name, value in spec.items() if name not in _SAID}}


def with_author(user: User, at: Target, object_: Object) -> Object:
    """A new request for a certificate with who has made it."""
    return {**object_, "spec": {**object_["spec"], **user.info}} if at.resource.plural == REQUESTS else object_


async def check(api: Api, user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Forbidden` if the write says something in the name of a signer that its author may not speak for."""
    if old is None and at.resource.plural == REQUESTS:
        _check_subject(at, new)
    verb = _verb(at, new, old)
    name = str((new.get("spec") or {}).get("signerName") or "")
    if not verb or user.is_master or (verb == "attest" and not name):
        return
    ask = Ask(verb, GROUP, "signers", name=name)
    whole = ask._replace(name=f"{name.rpartition('/')[0]}/*")
    if not await api.access.allows(user, ask) and not await api.access.allows(user, whole):
        raise forbidden_message.refusal(user, ask, why=f'user not permitted to {verb} requests with signerName "{name}"')


def _check_subject(at: Target, request: Object) -> None:
    """`Forbidden` if a client wants to become a master."""
    spec = request.get("spec") or {}
    if spec.get("signerName") != signers.CLIENT:
        return
    try:
        pem = base64.b64decode(spec.get("request") or "")
    except (ValueError, binascii.Error):
        return
    if MASTERS in certificates.organizations(pem):
        why = f"use of {signers.CLIENT} signer with {MASTERS} group is not allowed"
        raise api_errors.forbidden(at.resource, request["metadata"].get("name", ""), why)


def _verb(at: Target, new: Object, old: Object | None) -> str:
    """What is done to a signer; nothing if nothing is."""
    if at.resource.plural == _BUNDLES:
        return "attest" if old is None or new.get("spec") != old.get("spec") else ""
    if at.resource.plural != REQUESTS or old is None:
        return ""
    if at.subresource == "approval":
        return "approve"
    before, after = old.get("status") or {}, new.get("status") or {}
    return "sign" if at.subresource == "status" and any(before.get(one) != after.get(one) for one in _SIGNED) else ""
