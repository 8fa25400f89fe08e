"""Authorizes writes of CertificateSigningRequests and ClusterTrustBundles.

The server fills in who created a request, because approvers rely on it. Approving takes `approve`, signing `sign`, and publishing a
ClusterTrustBundle `attest`, each on the signer by name or on its whole domain (`example.com/*`), as in Kubernetes. A request for a
client certificate in the group `system:masters` is refused already when it is created.
"""

from __future__ import annotations

import base64
import binascii

from probate.api.objects import Object
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.users import MASTERS, User
from probate.kinds.certificates import signers
from probate.lib.x509 import certificates
from probate.server import api_errors
from probate.server.authz.authorizer import Authorizer
from probate.server.request import Target

GROUP = "certificates.k8s.io"
REQUESTS = "certificatesigningrequests"
_BUNDLES = "clustertrustbundles"
_REQUESTER_FIELDS = ("username", "uid", "groups", "extra")
_SIGNED_FIELDS = ("certificate", "conditions")


def without_requester(at: Target, object_: Object) -> Object:
    """Returns a new CertificateSigningRequest without what the client says about its creator."""
    spec = object_.get("spec")
    if at.resource.plural != REQUESTS or not isinstance(spec, dict):
        return object_
    return {**object_, "spec": {name: value for name, value in spec.items() if name not in _REQUESTER_FIELDS}}


def with_requester(user: User, at: Target, object_: Object) -> Object:
    """Returns a new CertificateSigningRequest with its creator filled in."""
    return {**object_, "spec": {**object_["spec"], **user.info}} if at.resource.plural == REQUESTS else object_


class SignerCheck:
    """The check of writes that act for a signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def check(self, user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Forbidden` if the write acts for a signer that its author has no right to."""
        if old is None and at.resource.plural == REQUESTS:
            _check_subject(at, new)
        verb = _signer_verb(at, new, old)
        name = str((new.get("spec") or {}).get("signerName") or "")
        if not verb or user.is_superuser or (verb == "attest" and not name):
            return
        ask = ResourceAttributes(verb, GROUP, "signers", name=name)
        domain_ask = ask._replace(name=f"{name.rpartition('/')[0]}/*")
        if not await self._authorizer.allows(user, ask) and not await self._authorizer.allows(user, domain_ask):
            raise forbidden_message.forbidden_error(
                user, ask, purpose=f'user not permitted to {verb} requests with signerName "{name}"'
            )


def _check_subject(at: Target, request: Object) -> None:
    """Raises `Forbidden` if a client requests a certificate in the group `system:masters`."""
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


def _signer_verb(at: Target, new: Object, old: Object | None) -> str:
    """Returns the verb on the signer that the write needs, or an empty string."""
    if at.resource.plural == _BUNDLES:
        return "attest" if old is None or new.get("spec") != old.get("spec") else ""
    if at.resource.plural != REQUESTS or old is None:
        return ""
    if at.subresource == "approval":
        return "approve"
    before, after = old.get("status") or {}, new.get("status") or {}
    return "sign" if at.subresource == "status" and any(before.get(field) != after.get(field) for field in _SIGNED_FIELDS) else ""
