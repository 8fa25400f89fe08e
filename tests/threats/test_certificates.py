"""Certificate requests for another identity or more rights (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type

from support import signed_certificates
from support.attacker_requests import MERGE, rbac_rule
from support.certificate_requests import CLIENT, GROUP, csr_object, csr_pem, subject
from support.rbac_server import RbacServer

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
MASTERS = "system:masters"


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(subject("eve", MASTERS), id="group"),
        pytest.param(subject("eve", "staff", MASTERS), id="one of several"),
        pytest.param(
            x509.Name([x509.NameAttribute(GROUP, MASTERS, _ASN1Type.BMPString), *subject("eve")]), id="in wide characters"
        ),
    ],
)
async def test_t45_certificate_of_a_master_could_be_asked_for(server: RbacServer, who: x509.Name) -> None:
    for asks in (
        server.request("POST", REQUESTS, csr_object(csr_pem(who))),
        server.ask_as("eve", "POST", REQUESTS, body=csr_object(csr_pem(who))),
    ):
        assert (await asks).code == 403  # not even a member of system:masters may request it
    await server.grant("eve", rbac_rule("create", "certificatesigningrequests", group="certificates.k8s.io"))
    refused = await server.ask_as("eve", "POST", REQUESTS, body=csr_object(csr_pem(who)))
    assert refused.code == 403
    assert f"use of {CLIENT} signer with {MASTERS} group is not allowed" in refused.json["message"]
    assert (await server.ask_as("eve", "POST", REQUESTS, body=csr_object(csr_pem(subject("eve", "staff"))))).code == 201


async def test_t45_request_could_become_another_after_it_was_approved(server: RbacServer) -> None:
    group = "certificates.k8s.io"
    await server.grant("eve", rbac_rule("create get update patch", "certificatesigningrequests", group=group))
    await server.grant("eve", rbac_rule("update patch", "certificatesigningrequests/status", group=group))
    created = (await server.ask_as("eve", "POST", REQUESTS, body=csr_object(csr_pem(subject("eve"))))).json
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}}
    await server.request("PATCH", f"{REQUESTS}/x/approval", approved, media=MERGE)
    other = {"spec": {**csr_object(csr_pem(subject("root", MASTERS)))["spec"], "usages": ["cert sign"], "expirationSeconds": 10**8}}
    for path in (f"{REQUESTS}/x", f"{REQUESTS}/x/status"):
        await server.ask_as("eve", "PATCH", path, body=other, media=MERGE)
        assert (await server.request("GET", f"{REQUESTS}/x")).json["spec"] == created["spec"]


async def test_t45_certificate_could_be_put_there_by_who_may_not_sign(server: RbacServer) -> None:
    group = "certificates.k8s.io"
    await server.grant("eve", rbac_rule("update patch", "certificatesigningrequests/status", group=group))
    await server.request("POST", REQUESTS, csr_object(csr_pem(subject("ann"))))
    change = {"status": {"certificate": base64.b64encode(signed_certificates.new_root("ann").pem).decode()}}
    assert (await server.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", body=change, media=MERGE)).code == 403
