"""Signs requests for clients' certificates that somebody has approved, and says why where it does not.

A request is signed once. What was asked for cannot change after it was approved, and neither can the decision; the certificate is
written over the very version of the request that was looked at.
"""

from __future__ import annotations

import base64
import binascii

from probate.api.timestamps import timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.controllers.lifecycle.csr_cleaner import REQUESTS
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.kinds.certificates.signers import SIGNERS, Unfit, Wanted

TITLE = "certificatesigningrequest-signing-controller"
REASON = "SignerValidationFailure"


def start(means: Means) -> list[Workers]:
    """The controller's worker. There is none where there is no authority."""
    return [Signers(means).workers] if means.server.sign is not None else []


class Signers:
    """One for all signers: they have one authority."""

    def __init__(self, means: Means) -> None:
        self._sign, self._clock = means.server.sign, means.clock
        self._requests = means.informers.of(REQUESTS)
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._requests.listen(self._take)

    def _take(self, _: Object | None, new: Object | None) -> None:
        if new is not None and is_due(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: Name) -> None:
        request = self._requests.get(name)
        if request is None or not is_due(request) or self._sign is None:
            return
        status = request.get("status") or {}
        try:
            made = await self._sign(wanted(request))
            status = {**status, "certificate": base64.b64encode(made).decode()}
        except Unfit as why:
            now, told = timestamp(self._clock.now()), status.get("conditions") or []
            failed = conditions.made("Failed", "True", REASON, str(why))
            status = {**status, "conditions": conditions.put(told, failed, now, "lastUpdateTime")}
        await self._requests.update({**request, "status": status}, "status")


def is_due(request: Object) -> bool:
    """Whether the request was approved, and nothing else was decided on it, or has become of it."""
    status = request.get("status") or {}
    told = status.get("conditions") or []
    if request["spec"].get("signerName") not in SIGNERS or status.get("certificate"):
        return False
    is_settled = any(one.get("type") in {"Denied", "Failed"} for one in told)
    return conditions.is_true(told, "Approved") and not is_settled and "deletionTimestamp" not in request["metadata"]


def wanted(request: Object) -> Wanted:
    """What was asked for."""
    spec = request["spec"]
    try:
        pem = base64.b64decode(spec.get("request") or "")
    except (ValueError, binascii.Error) as error:
        raise Unfit("the request cannot be read") from error
    return Wanted(spec["signerName"], pem, tuple(spec.get("usages") or ()), spec.get("expirationSeconds"))
