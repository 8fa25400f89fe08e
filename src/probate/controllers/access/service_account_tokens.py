"""Secrets that hold the token of a service account: who makes an empty one for an account gets it filled.

The token is bound to the Secret, so it is good for as long as that is there, and the account. A Secret whose account is gone, or is
another one of its name, goes too. Accounts are not followed for that: each such Secret is looked at now and then, and until then
its token is as dead as its account.
"""

from __future__ import annotations

import base64

from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers

SECRETS = Kind("", "v1", "secrets")
ACCOUNTS = Kind("", "v1", "serviceaccounts")
TYPE = "kubernetes.io/service-account-token"
ACCOUNT, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
LOOK_SECONDS = 60.0
LONGEST = 1 << 32
"""Seconds that a token lasts: longer than anybody will."""


def start(means: Means) -> list[Workers]:
    """The worker that fills them."""
    return [Tokens(means).workers]


class Tokens:
    """Fills Secrets, and removes those of accounts that are gone."""

    def __init__(self, means: Means) -> None:
        self._client = means.client
        self._certificate = means.server.certificate
        self._secrets = means.informers.of(SECRETS, where=f"type={TYPE}")
        self.workers = Workers("tokens-controller", self._sync, means.clock)
        self._secrets.listen(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)

    async def _sync(self, name: Name) -> float | None:
        secret = self._secrets.get(name)
        if secret is None or is_deleting(secret):
            return None
        account = await self._account(secret)
        if account is None:
            await self._secrets.delete(secret)
            return None
        if not secret.get("immutable") and (filled := await self._filled(secret, account)) != secret:
            await self._secrets.update(filled)
        return LOOK_SECONDS

    async def _account(self, secret: Object) -> Object | None:
        """The account that the Secret is for; None if it is not there any more."""
        notes = secret["metadata"].get("annotations") or {}
        namespace, name = secret["metadata"]["namespace"], notes.get(ACCOUNT) or ""
        found = await self._client.get(ACCOUNTS, namespace, name) if name else None
        return found if found is not None and notes.get(UID) in {None, "", found["metadata"]["uid"]} else None

    async def _filled(self, secret: Object, account: Object) -> Object:
        meta, data = secret["metadata"], secret.get("data") or {}
        known = {"namespace": _coded(meta["namespace"])}
        if self._certificate:
            known["ca.crt"] = _coded(self._certificate)
        if not data.get("token"):
            known["token"] = _coded(await self._token(secret, account))
        notes = {**(meta.get("annotations") or {}), UID: account["metadata"]["uid"]}
        return {**secret, "metadata": {**meta, "annotations": notes}, "data": {**data, **known}}

    async def _token(self, secret: Object, account: Object) -> str:
        meta, name = secret["metadata"], account["metadata"]["name"]
        bound = {"kind": "Secret", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
        asked = {"spec": {"expirationSeconds": LONGEST, "boundObjectRef": bound}}
        told = await self._client.send_to(ACCOUNTS, meta["namespace"], name, "token", asked)
        token: str = told["status"]["token"]
        return token


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
