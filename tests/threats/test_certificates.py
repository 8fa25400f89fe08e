"""Certificates that somebody asks for, to be another or more than they are (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type

from support import signed_certificates
from support.attacker_requests import MERGE, may
from support.certificate_requests import CLIENT, GROUP, asked, object_of, subject
from support.rbac_server import Guarded

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
async def test_t45_certificate_of_a_master_could_be_asked_for(house: Guarded, who: x509.Name) -> None:
    for asks in (house.ask("POST", REQUESTS, object_of(asked(who))), house.ask_as("eve", "POST", REQUESTS, object_of(asked(who)))):
        assert (await asks).code == 403  # not even a master gets one that way
    await house.grant("eve", may("create", "certificatesigningrequests", group="certificates.k8s.io"))
    refused = await house.ask_as("eve", "POST", REQUESTS, object_of(asked(who)))
    assert refused.code == 403
    assert f"use of {CLIENT} signer with {MASTERS} group is not allowed" in refused.json["message"]
    assert (await house.ask_as("eve", "POST", REQUESTS, object_of(asked(subject("eve", "staff"))))).code == 201


async def test_t45_request_could_become_another_after_it_was_approved(house: Guarded) -> None:
    group = "certificates.k8s.io"
    await house.grant("eve", may("create get update patch", "certificatesigningrequests", group=group))
    await house.grant("eve", may("update patch", "certificatesigningrequests/status", group=group))
    made = (await house.ask_as("eve", "POST", REQUESTS, object_of(asked(subject("eve"))))).json
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}}
    await house.ask("PATCH", f"{REQUESTS}/x/approval", approved, media=MERGE)
    other = {"spec": {**object_of(asked(subject("root", MASTERS)))["spec"], "usages": ["cert sign"], "expirationSeconds": 10**8}}
    for path in (f"{REQUESTS}/x", f"{REQUESTS}/x/status"):
        await house.ask_as("eve", "PATCH", path, other, media=MERGE)
        assert (await house.ask("GET", f"{REQUESTS}/x")).json["spec"] == made["spec"]


async def test_t45_certificate_could_be_put_there_by_who_may_not_sign(house: Guarded) -> None:
    group = "certificates.k8s.io"
    await house.grant("eve", may("update patch", "certificatesigningrequests/status", group=group))
    await house.ask("POST", REQUESTS, object_of(asked(subject("ann"))))
    change = {"status": {"certificate": base64.b64encode(signed_certificates.root("ann").pem).decode()}}
    assert (await house.ask_as("eve", "PATCH", f"{REQUESTS}/x/status", change, media=MERGE)).code == 403
