"""CertificateSigningRequests are signed once they are approved; a failure is reported in a condition."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.controllers.access.csr_signer import REASON
from probate.controllers.lifecycle.csr_cleaner import REQUESTS
from probate.controllers.runtime.context import Server
from probate.kinds.certificates.signers import CannotSign, RequestedCertificate
from support import signed_certificates
from support.certificate_requests import CLIENT, PEM, csr_object
from support.workload_cluster import WorkloadCluster, workload_cluster

TENANTS = GroupVersionResource("tenant.kubezoo.io", "v1alpha1", "tenants")
CERTIFICATE = signed_certificates.new_root("somebody").pem


class Signing(WorkloadCluster):
    """A stage with an authority that signs and records all requests, or refuses them."""

    calls: list[RequestedCertificate]
    no: str

    async def sign(self, wanted: RequestedCertificate) -> bytes:
        self.calls.append(wanted)
        if self.no:
            raise CannotSign(self.no)
        return CERTIFICATE

    async def ask(self, *decisions: str, **spec: Any) -> Object:
        """Creates a request with these conditions, and returns it once all controllers are idle."""
        made = await self.client.create(REQUESTS, "", csr_object(PEM, **spec))
        conditions = [{"type": one, "status": "True", "reason": "r", "message": "m"} for one in decisions]
        if conditions:
            await self.client.update(REQUESTS, {**made, "status": {"conditions": conditions}}, "approval")
        await self.settle()
        return await self.client.get(REQUESTS, "", "x") or {}


@pytest.fixture
async def stage() -> AsyncIterator[Signing]:
    async with workload_cluster() as one:
        one.__class__ = Signing
        assert isinstance(one, Signing)
        one.calls, one.no = [], ""
        one.server.server = Server(sign=one.sign)
        async with one.controllers_running("signers"):
            yield one


async def test_approved_request_is_signed_once(stage: Signing) -> None:
    found = await stage.ask("Approved", usages=["client auth", "digital signature"], expirationSeconds=3600)
    assert found["status"]["certificate"] == base64.b64encode(CERTIFICATE).decode()
    assert [one["type"] for one in found["status"]["conditions"]] == ["Approved"]
    assert stage.calls == [RequestedCertificate(CLIENT, PEM, ("client auth", "digital signature"), 3600)]
    await stage.client.patch(REQUESTS, "", "x", change={"metadata": {"labels": {"a": "b"}}})
    await stage.settle()
    assert len(stage.calls) == 1


@pytest.mark.parametrize("decisions", [(), ("Denied",)], ids=["pending", "denied"])
async def test_unapproved_request_is_not_signed(stage: Signing, decisions: tuple[str, ...]) -> None:
    found = await stage.ask(*decisions)
    assert "certificate" not in found.get("status", {})
    assert stage.calls == []


@pytest.mark.parametrize("signer", ["kubernetes.io/kubelet-serving", "example.com/s"])
async def test_request_for_another_signer_is_left_alone(stage: Signing, signer: str) -> None:
    found = await stage.ask("Approved", signer=signer)
    assert [one["type"] for one in found["status"]["conditions"]] == ["Approved"]
    assert stage.calls == []


async def test_refused_request_says_why_and_is_not_retried(stage: Signing) -> None:
    stage.no = "it should not be"
    found = await stage.ask("Approved")
    approved, failed = found["status"]["conditions"]
    assert approved["type"] == "Approved"
    assert (failed["type"], failed["status"], failed["reason"], failed["message"]) == ("Failed", "True", REASON, stage.no)
    assert failed["lastUpdateTime"] and failed["lastTransitionTime"]  # noqa: PT018
    assert "certificate" not in found["status"]
    assert len(stage.calls) == 1


async def test_nothing_is_signed_without_an_authority() -> None:
    async with workload_cluster() as stage, stage.controllers_running("signers"):
        await stage.client.create(REQUESTS, "", csr_object(PEM))
        await stage.settle()
        assert "certificate" not in (await stage.client.get(REQUESTS, "", "x") or {}).get("status", {})


async def test_request_of_a_tenant_is_not_signed_since_the_tenant_approves_it_itself(stage: Signing) -> None:
    await stage.client.create(TENANTS, "", {"metadata": {"name": "111111"}})
    owned = csr_object(PEM)
    owned["metadata"]["name"] = "111111-x"
    made = await stage.client.create(REQUESTS, "", owned)
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    await stage.client.update(REQUESTS, {**made, "status": {"conditions": [approved]}}, "approval")
    await stage.settle()
    found = await stage.client.get(REQUESTS, "", "111111-x") or {}
    assert [one["type"] for one in found["status"]["conditions"]] == ["Approved", "Failed"]
    assert "ask its administrators for a kubeconfig" in found["status"]["conditions"][1]["message"]
    assert stage.calls == []
