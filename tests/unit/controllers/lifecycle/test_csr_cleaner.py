"""The deletion of settled and abandoned CertificateSigningRequests."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.controllers.lifecycle.csr_cleaner import POD_REQUESTS, REQUESTS
from probate.lib.x509 import certificates
from support import certificate_requests
from support.workload_cluster import WorkloadCluster, workload_cluster

HOUR, DAY = 3600.0, 24 * 3600.0
CERTIFICATE = b"""-----BEGIN CERTIFICATE-----
MIIBSzCB/qADAgECAhRPR2ZdAaOI40PhAk8O4HTu2/YqozAFBgMrZXAwDzENMAsG
-----END CERTIFICATE-----
"""


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def certificate(end: float, *, has_version: bool = True, is_long: bool = False) -> bytes:
    """Returns as much of a certificate as has to be parsed, with padding so that lengths take more than one byte."""
    when = dt.datetime.fromtimestamp(end, dt.UTC)
    ends = der(0x18, when.strftime("%Y%m%d%H%M%SZ").encode()) if is_long else der(0x17, when.strftime("%y%m%d%H%M%SZ").encode())
    validity = der(0x30, der(0x17, b"200101000000Z") + ends)
    version = der(0xA0, der(2, b"\2")) if has_version else b""
    body = der(0x30, version + der(2, b"\1") + der(0x30, b"") + der(0x30, b"\5\0" * 100) + validity)
    text = base64.encodebytes(der(0x30, body))
    return b"-----BEGIN CERTIFICATE-----\n" + text + b"-----END CERTIFICATE-----\n"


def issued(end: float) -> bytes:
    """Returns a whole certificate in PEM format, as signers write it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    begins = dt.datetime.fromtimestamp(end - 100 * DAY, dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begins, dt.datetime.fromtimestamp(end, dt.UTC))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("signingrequests") as one:
        yield one


async def request(stage: WorkloadCluster, *types: str, pem: bytes = b"") -> None:
    await stage.client.create(REQUESTS, "", {"metadata": {"name": "one"}, "spec": certificate_requests.SPEC})
    now = format_time(stage.server.clock.now())
    conditions = [{"type": one, "status": "True", "reason": "x", "message": "", "lastUpdateTime": now} for one in types]
    approved = [one for one in conditions if one["type"] in {"Approved", "Denied"}]
    found: Object = await stage.client.get(REQUESTS, "", "one") or {}
    if approved:
        found = await stage.client.update(REQUESTS, {**found, "status": {"conditions": approved}}, "approval")
    if pem or len(approved) < len(conditions):
        status: Object = {"conditions": conditions, **({"certificate": base64.b64encode(pem).decode()} if pem else {})}
        await stage.client.update(REQUESTS, {**found, "status": status}, "status")
    await stage.settle()


async def exists(stage: WorkloadCluster) -> bool:
    return await stage.client.get(REQUESTS, "", "one") is not None


FAR = 1_700_000_000.0 + 30 * DAY


@pytest.mark.parametrize(
    ("types", "pem", "limit"),
    [
        pytest.param(["Approved"], issued(FAR), HOUR, id="1-issued"),
        pytest.param(["Denied"], b"", HOUR, id="2-denied"),
        pytest.param(["Failed"], b"", HOUR, id="3-failed"),
        pytest.param([], b"", DAY, id="4-pending"),
        pytest.param(["Approved"], issued(1_700_000_000.0 + 60), 60.0, id="5-certificate-over"),
        pytest.param(["Approved"], b"", DAY, id="6-never-issued"),
        pytest.param(["Checked"], b"", DAY, id="conditions-of-unknown-types"),
        pytest.param(["Approved", "Checked"], b"", DAY, id="approved-and-a-condition-of-an-unknown-type"),
        pytest.param([], issued(FAR), DAY, id="issued-and-never-approved"),
    ],
)
async def test_csr_2_a_request_is_deleted_exactly_when_it_expires(
    stage: WorkloadCluster, types: Any, pem: bytes, limit: float
) -> None:
    await request(stage, *types, pem=pem)
    await stage.pass_time(limit)
    assert await exists(stage)  # CSR-3: not older than that
    await stage.pass_time(1)
    assert not await exists(stage)


async def test_csr_1_requests_from_before_the_start_are_deleted_when_they_expire() -> None:
    async with workload_cluster() as stage:
        await request(stage)
        await stage.pass_time(DAY - 60)
        async with stage.controllers_running("signingrequests"):
            assert await exists(stage)
            await stage.pass_time(61)
            assert not await exists(stage)


async def test_csr_5_a_pod_certificate_request_is_deleted_after_a_quarter_of_an_hour(stage: WorkloadCluster) -> None:
    spec = {
        "signerName": "example.com/s",
        "podName": "a",
        "podUID": "u",
        "nodeName": "n",
        "nodeUID": "nu",
        "serviceAccountName": "default",
        "serviceAccountUID": "su",
        "pkixPublicKey": "AAAA",
        "proofOfPossession": "AAAA",
    }
    await stage.create(POD_REQUESTS, "one", spec)
    await stage.pass_time(15 * 60 - 1)
    assert await stage.find(POD_REQUESTS, "one") is not None
    await stage.pass_time(1)
    assert await stage.find(POD_REQUESTS, "one") is None


async def test_csr_4_no_events_are_written(stage: WorkloadCluster) -> None:
    await request(stage)
    await stage.pass_time(DAY + 1)
    assert await stage.event_messages() == []


def test_csr_3_an_invalid_certificate_has_no_end() -> None:
    assert certificates.not_after(b"") is None
    assert certificates.not_after(CERTIFICATE) is None
    assert certificates.not_after(certificate(FAR).replace(b"CERTIFICATE", b"PUBLIC KEY")) is None
    assert certificates.not_after(b"-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n") is None


@pytest.mark.parametrize("has_version", [True, False])
@pytest.mark.parametrize("is_long", [True, False])
def test_csr_2_the_end_of_a_certificate_is_read(*, has_version: bool, is_long: bool) -> None:
    assert certificates.not_after(certificate(FAR, has_version=has_version, is_long=is_long)) == FAR
