"""A client authenticates with a certificate that it requested and that was approved."""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import httpx

from support.certificate_requests import csr_object, csr_pem, key_pem, new_key, subject
from support.server_process import run_server

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
MERGE = {"content-type": "application/merge-patch+json"}
APPROVED = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}}


def client(url: str, folder: Path, name: str) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(folder / "probate.pki" / "ca.crt"))
    context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    return httpx.Client(base_url=url, verify=context, timeout=60)


def settled(admin: httpx.Client, name: str) -> dict[str, Any]:
    """The status of a CertificateSigningRequest once it is signed or has failed."""
    params = {"watch": "1", "fieldSelector": f"metadata.name={name}", "timeoutSeconds": "60"}
    with admin.stream("GET", REQUESTS, params=params) as events:
        for line in events.iter_lines():
            status: dict[str, Any] = json.loads(line)["object"].get("status", {})
            if "certificate" in status or len(status.get("conditions", [])) > 1:
                return status
    raise AssertionError("nothing has become of it")


def test_requested_certificate_authenticates_its_owner(tmp_path: Path) -> None:
    with run_server(tmp_path, "memory:") as server:
        pki = tmp_path / "probate.pki"
        for end in ("crt", "key"):
            (tmp_path / f"admin.{end}").write_bytes((pki / f"admin.{end}").read_bytes())
        with client(server.url, tmp_path, "admin") as admin:
            key = new_key()
            body = csr_object(csr_pem(subject("ann", "staff"), key), "ann", expirationSeconds=3600)
            assert admin.post(REQUESTS, json=body).status_code == 201
            assert admin.patch(f"{REQUESTS}/ann/approval", json=APPROVED, headers=MERGE).status_code == 200
            (tmp_path / "ann.crt").write_bytes(base64.b64decode(settled(admin, "ann")["certificate"]))
            (tmp_path / "ann.key").write_bytes(key_pem(key))
            response = admin.post(REQUESTS, json=csr_object(csr_pem(subject("eve", "system:masters")), "eve"))
            assert response.status_code == 403
            served = csr_object(csr_pem(subject("system:node:n", "system:nodes", "system:masters")), "node")
            served["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client-kubelet"
            admin.post(REQUESTS, json=served)
            admin.patch(f"{REQUESTS}/node/approval", json=APPROVED, headers=MERGE)
            assert [one["type"] for one in settled(admin, "node")["conditions"]] == ["Approved", "Failed"]
        with client(server.url, tmp_path, "ann") as ann:
            who = ann.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=REVIEW).json()["status"]["userInfo"]
            assert (who["username"], who["groups"]) == ("ann", ["staff", "system:authenticated"])
            assert ann.get("/api/v1/secrets").status_code == 403
