"""Requests for certificates are signed once they are approved; what is not signed says why."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.controllers.access.csr_signing import REASON
from probate.controllers.lifecycle.csr_cleaner import REQUESTS
from probate.controllers.runtime.context import Server
from probate.kinds.certificates.signers import Unfit, Wanted
from support import signed_certificates
from support.certificate_requests import CLIENT, PEM, object_of
from support.workload_cluster import Object, Stage, staged

CERTIFICATE = signed_certificates.root("somebody").pem


class Signing(Stage):
    """With an authority that signs what it is asked, and notes it; or says no."""

    calls: list[Wanted]
    no: str

    async def sign(self, wanted: Wanted) -> bytes:
        self.calls.append(wanted)
        if self.no:
            raise Unfit(self.no)
        return CERTIFICATE

    async def ask(self, *decisions: str, **spec: Any) -> Object:
        """A request with these decisions on it, once everybody has done what they want to."""
        made = await self.client.create(REQUESTS, "", object_of(PEM, **spec))
        told = [{"type": one, "status": "True", "reason": "r", "message": "m"} for one in decisions]
        if told:
            await self.client.update(REQUESTS, {**made, "status": {"conditions": told}}, "approval")
        await self.settle()
        return await self.client.get(REQUESTS, "", "x") or {}


@pytest.fixture
async def stage() -> AsyncIterator[Signing]:
    async with staged() as one:
        one.__class__ = Signing
        assert isinstance(one, Signing)
        one.calls, one.no = [], ""
        one.cluster.server = Server(sign=one.sign)
        async with one.working("signers"):
            yield one


async def test_what_is_approved_is_signed_once(stage: Signing) -> None:
    found = await stage.ask("Approved", usages=["client auth", "digital signature"], expirationSeconds=3600)
    assert found["status"]["certificate"] == base64.b64encode(CERTIFICATE).decode()
    assert [one["type"] for one in found["status"]["conditions"]] == ["Approved"]
    assert stage.calls == [Wanted(CLIENT, PEM, ("client auth", "digital signature"), 3600)]
    await stage.client.patch(REQUESTS, "", "x", {"metadata": {"labels": {"a": "b"}}})
    await stage.settle()
    assert len(stage.calls) == 1


@pytest.mark.parametrize("decisions", [(), ("Denied",)], ids=["pending", "denied"])
async def test_what_is_not_approved_is_not_signed(stage: Signing, decisions: tuple[str, ...]) -> None:
    found = await stage.ask(*decisions)
    assert "certificate" not in found.get("status", {})
    assert stage.calls == []


@pytest.mark.parametrize("signer", ["kubernetes.io/kubelet-serving", "example.com/s"])
async def test_what_is_another_signers_is_left_to_them(stage: Signing, signer: str) -> None:
    found = await stage.ask("Approved", signer=signer)
    assert [one["type"] for one in found["status"]["conditions"]] == ["Approved"]
    assert stage.calls == []


async def test_what_is_not_signed_says_why_and_is_not_asked_for_again(stage: Signing) -> None:
    stage.no = "it should not be"
    found = await stage.ask("Approved")
    approved, failed = found["status"]["conditions"]
    assert approved["type"] == "Approved"
    assert (failed["type"], failed["status"], failed["reason"], failed["message"]) == ("Failed", "True", REASON, stage.no)
    assert failed["lastUpdateTime"] and failed["lastTransitionTime"]  # noqa: PT018
    assert "certificate" not in found["status"]
    assert len(stage.calls) == 1


async def test_nothing_is_signed_where_there_is_no_authority() -> None:
    async with staged() as stage, stage.working("signers"):
        await stage.client.create(REQUESTS, "", object_of(PEM))
        await stage.settle()
        assert "certificate" not in (await stage.client.get(REQUESTS, "", "x") or {}).get("status", {})
