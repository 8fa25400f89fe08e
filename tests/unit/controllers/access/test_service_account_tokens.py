"""Secrets for service account tokens are filled, and deleted with their account."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.controllers.access.service_account_tokens import ACCOUNT_NAME, ACCOUNT_UID, SECRETS, SERVICE_ACCOUNTS, TYPE
from probate.controllers.runtime.context import Server
from probate.core import errors
from probate.server.authn.authenticator import RequestAuthenticator
from support.workload_cluster import NAMESPACE, WorkloadCluster, workload_cluster


async def make_secret(stage: WorkloadCluster, account: str = "robot", **fields: Any) -> None:
    new = {"metadata": {"name": "s", "annotations": {ACCOUNT_NAME: account}}, "type": TYPE, **fields}
    await stage.client.create(SECRETS, NAMESPACE, new)
    await stage.settle()


async def make_account(stage: WorkloadCluster) -> Object:
    return await stage.client.create(SERVICE_ACCOUNTS, NAMESPACE, {"metadata": {"name": "robot"}})


def read(secret: Object, name: str) -> str:
    return base64.b64decode(secret["data"][name]).decode()


async def user_of_token(stage: WorkloadCluster, token: str) -> User:
    api = stage.server.api
    return (await RequestAuthenticator(api.clock, api.service_accounts).authenticate_token(token, ())).user


async def test_secret_for_an_account_was_left_empty() -> None:
    async with workload_cluster("tokens") as stage:
        account = await make_account(stage)
        await make_secret(stage)
        secret = await stage.get(SECRETS, "s")
        assert secret["metadata"]["annotations"][ACCOUNT_UID] == account["metadata"]["uid"]
        assert read(secret, "namespace") == NAMESPACE
        assert (await user_of_token(stage, read(secret, "token"))).name == f"system:serviceaccount:{NAMESPACE}:robot"
        await stage.delete(SECRETS, "s")
        with pytest.raises(errors.Unauthorized):
            await user_of_token(stage, read(secret, "token"))


async def test_secret_holds_the_certificate_of_the_server_if_there_is_one() -> None:
    async with workload_cluster() as stage:
        stage.server.server = Server(certificate="PEM")
        async with stage.controllers_running("tokens"):
            await make_account(stage)
            await make_secret(stage)
            assert read(await stage.get(SECRETS, "s"), "ca.crt") == "PEM"


async def test_immutable_secret_is_left_alone() -> None:
    async with workload_cluster("tokens") as stage:
        await make_account(stage)
        await make_secret(stage, immutable=True)
        assert "data" not in await stage.get(SECRETS, "s")


async def test_existing_token_stays() -> None:
    async with workload_cluster("tokens") as stage:
        await make_account(stage)
        await make_secret(stage, data={"token": base64.b64encode(b"mine").decode()})
        assert read(await stage.get(SECRETS, "s"), "token") == "mine"


async def test_secret_is_deleted_with_its_account_also_if_another_has_its_name() -> None:
    async with workload_cluster("tokens") as stage:
        await make_account(stage)
        await make_secret(stage)
        await stage.client.delete(SERVICE_ACCOUNTS, NAMESPACE, "robot")
        await make_account(stage)
        await stage.pass_time(61)
        assert await stage.find(SECRETS, "s") is None


async def test_secret_of_an_account_that_never_existed_is_deleted_and_others_stay() -> None:
    async with workload_cluster("tokens") as stage:
        await stage.client.create(SECRETS, NAMESPACE, {"metadata": {"name": "plain"}})
        await make_secret(stage, "nobody")
        assert await stage.find(SECRETS, "s") is None
        assert await stage.find(SECRETS, "plain") is not None
