"""Fills Secrets of type `kubernetes.io/service-account-token` with a token, and deletes those whose service account is gone.

The token is bound to the Secret, so it is valid as long as the Secret and the account exist. A Secret whose account is gone, or was
replaced by another of its name, is deleted. Accounts are not watched for that: each such Secret is checked periodically, and until
then its token is invalid because its account is gone.
"""

from __future__ import annotations

import base64

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result

SECRETS = GroupVersionResource("", "v1", "secrets")
SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
TYPE = "kubernetes.io/service-account-token"
ACCOUNT_NAME, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
CHECK_SECONDS = 60.0
TOKEN_SECONDS = 1 << 32
"""The lifetime of a token: effectively forever."""


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [ServiceAccountTokens(context).workers]


class ServiceAccountTokens:
    """Fills Secrets, and deletes those of accounts that are gone."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._certificate = context.server.certificate
        self._secrets = context.informers.for_resource(SECRETS, field_selector=f"type={TYPE}")
        self.workers = Workers("serviceaccount-token-controller", self._sync, context.clock)
        self._secrets.add_event_handler(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)

    async def _sync(self, name: NamespacedName) -> Result:
        secret = self._secrets.get(name)
        if secret is None or is_deleting(secret):
            return None
        account = await self._account(secret)
        if account is None:
            await self._secrets.delete(secret)
            return None
        if not secret.get("immutable") and (filled := await self._fill(secret, account)) != secret:
            await self._secrets.update(filled)
        return CHECK_SECONDS

    async def _account(self, secret: Object) -> Object | None:
        """Returns the account that the Secret is for; None if it is gone."""
        annotations = secret["metadata"].get("annotations") or {}
        namespace, name = secret["metadata"]["namespace"], annotations.get(ACCOUNT_NAME) or ""
        found = await self._client.get(SERVICE_ACCOUNTS, namespace, name) if name else None
        return found if found is not None and annotations.get(ACCOUNT_UID) in {None, "", found["metadata"]["uid"]} else None

    async def _fill(self, secret: Object, account: Object) -> Object:
        meta, data = secret["metadata"], secret.get("data") or {}
        fields = {"namespace": _encode(meta["namespace"])}
        if self._certificate:
            fields["ca.crt"] = _encode(self._certificate)
        if not data.get("token"):
            fields["token"] = _encode(await self._token(secret, account))
        annotations = {**(meta.get("annotations") or {}), ACCOUNT_UID: account["metadata"]["uid"]}
        return {**secret, "metadata": {**meta, "annotations": annotations}, "data": {**data, **fields}}

    async def _token(self, secret: Object, account: Object) -> str:
        meta, name = secret["metadata"], account["metadata"]["name"]
        secret_reference = {"kind": "Secret", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
        request = {"spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": secret_reference}}
        response = await self._client.create_subresource(
            SERVICE_ACCOUNTS, meta["namespace"], name, subresource="token", body=request
        )
        token: str = response["status"]["token"]
        return token


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
