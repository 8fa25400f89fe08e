"""Secrets with the token of a service account are filled, and go with it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.api.rbac.users import User
from probate.controllers.access.service_account_tokens import ACCOUNT, ACCOUNTS, SECRETS, TYPE, UID
from probate.controllers.runtime.context import Server
from probate.core import errors
from probate.server.authn.authenticator import Recognition
from support.workload_cluster import NAMESPACE, Object, Stage, staged


async def make_secret(stage: Stage, account: str = "robot", **fields: Any) -> None:
    new = {"metadata": {"name": "s", "annotations": {ACCOUNT: account}}, "type": TYPE, **fields}
    await stage.client.create(SECRETS, NAMESPACE, new)
    await stage.settle()


async def make_account(stage: Stage) -> Object:
    return await stage.client.create(ACCOUNTS, NAMESPACE, {"metadata": {"name": "robot"}})


def read(secret: Object, name: str) -> str:
    return base64.b64decode(secret["data"][name]).decode()


async def whose(stage: Stage, token: str) -> User:
    api = stage.cluster.api
    return (await Recognition(api.clock, api.accounts).of_token(token, ())).user


async def test_secret_for_an_account_was_left_empty() -> None:
    async with staged("tokens") as stage:
        account = await make_account(stage)
        await make_secret(stage)
        secret = await stage.get(SECRETS, "s")
        assert secret["metadata"]["annotations"][UID] == account["metadata"]["uid"]
        assert read(secret, "namespace") == NAMESPACE
        assert (await whose(stage, read(secret, "token"))).name == f"system:serviceaccount:{NAMESPACE}:robot"
        await stage.delete(SECRETS, "s")
        with pytest.raises(errors.Unauthorized):
            await whose(stage, read(secret, "token"))


async def test_secret_holds_what_the_server_is_known_by_if_there_is_such_a_thing() -> None:
    async with staged() as stage:
        stage.cluster.server = Server(certificate="PEM")
        async with stage.working("tokens"):
            await make_account(stage)
            await make_secret(stage)
            assert read(await stage.get(SECRETS, "s"), "ca.crt") == "PEM"


async def test_secret_that_cannot_change_is_left_alone() -> None:
    async with staged("tokens") as stage:
        await make_account(stage)
        await make_secret(stage, immutable=True)
        assert "data" not in await stage.get(SECRETS, "s")


async def test_token_that_is_there_stays() -> None:
    async with staged("tokens") as stage:
        await make_account(stage)
        await make_secret(stage, data={"token": base64.b64encode(b"mine").decode()})
        assert read(await stage.get(SECRETS, "s"), "token") == "mine"


async def test_secret_goes_with_its_account_and_is_not_anothers() -> None:
    async with staged("tokens") as stage:
        await make_account(stage)
        await make_secret(stage)
        await stage.client.delete(ACCOUNTS, NAMESPACE, "robot")
        await make_account(stage)
        await stage.pass_time(61)
        assert await stage.find(SECRETS, "s") is None


async def test_secret_of_an_account_that_never_was_goes_and_others_stay() -> None:
    async with staged("tokens") as stage:
        await stage.client.create(SECRETS, NAMESPACE, {"metadata": {"name": "plain"}})
        await make_secret(stage, "nobody")
        assert await stage.find(SECRETS, "s") is None
        assert await stage.find(SECRETS, "plain") is not None
