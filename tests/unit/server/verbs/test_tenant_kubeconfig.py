"""`POST tenants/<id>/kubeconfig`: what it issues, for whom, and what it refuses."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from probate.api.audit import redaction
from probate.api.audit.request_info import RequestInfo
from probate.api.rbac.users import User
from probate.api.timestamps import format_time
from probate.app.credentials import SecureServing
from probate.core.clock import FakeClock
from probate.http.tls import client_certificates
from probate.http.tls.client_certificates import TenantClaim
from probate.server.authn.tenant_credentials import IssuedKubeconfig, TenantUser
from probate.settings import Settings
from support.in_process_server import InProcessServer, Response, running

NOW = 1_800_000_000.0
TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
URL = "https://127.0.0.1:6443"


@pytest.fixture
def secure(tmp_path: Path) -> SecureServing:
    return SecureServing(Settings(pki=str(tmp_path / "pki")), "127.0.0.1", FakeClock(NOW))


@pytest.fixture
async def server(secure: SecureServing) -> AsyncIterator[InProcessServer]:
    async def issue(user: TenantUser, seconds: int) -> IssuedKubeconfig:
        return secure.issue_kubeconfig(URL, user, seconds)

    async with running(clock=FakeClock(NOW), collects=False, issue_kubeconfig=issue) as one:
        assert (await one.request("POST", TENANTS, {"metadata": {"name": "111111"}})).code == 201
        yield one


async def ask(server: InProcessServer, spec: dict[str, Any] | None = None, tenant: str = "111111", **query: str) -> Response:
    body = None if spec is None else {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "TenantKubeconfig", "spec": spec}
    return await server.request("POST", f"{TENANTS}/{tenant}/kubeconfig", body, query=query)


def user_of(response: Response, folder: Path) -> dict[str, Any]:
    """Returns what the kubeconfig of the response says: its cluster, certificate and identity."""
    config = yaml.safe_load(response.json["status"]["kubeconfig"])
    (cluster,), (user,) = config["clusters"], config["users"]
    pem, key = (base64.b64decode(user["user"][f"client-{name}-data"]) for name in ("certificate", "key"))
    (folder / "client.crt").write_bytes(pem)
    decoded: dict[str, Any] = ssl._ssl._test_decode_cert(str(folder / "client.crt"))  # type: ignore[attr-defined]
    identity = client_certificates.parse_identity(decoded, [ssl.PEM_cert_to_DER_cert(pem.decode())])
    return {"config": config, "cluster": cluster["cluster"], "certificate": pem, "key": key, "identity": identity}


async def test_default_is_the_administrator_for_an_hour(server: InProcessServer, secure: SecureServing, tmp_path: Path) -> None:
    response = await ask(server)
    assert response.code == 201, response.body
    assert (response.json["kind"], response.json["apiVersion"]) == ("TenantKubeconfig", "tenant.kubezoo.io/v1alpha1")
    assert response.json["spec"] == {"user": "admin", "expirationSeconds": 3600}
    assert response.json["status"]["expirationTimestamp"] == format_time(NOW + 3600)
    found = user_of(response, tmp_path)
    assert found["config"]["current-context"] == "tenant-111111"
    assert found["cluster"]["server"] == URL
    assert base64.b64decode(found["cluster"]["certificate-authority-data"]) == secure.credentials().authority
    uid = (await server.request("GET", f"{TENANTS}/111111")).json["metadata"]["uid"]
    identity = found["identity"]
    assert identity.user == User("111111-admin", ("system:authenticated",), tenant="111111")
    assert identity.claim == TenantClaim(("111111",), uid)
    assert (identity.not_before, identity.not_after) == (NOW - 300, NOW + 3600)


async def test_certificate_is_the_keys_and_signed_by_the_servers_authority(
    server: InProcessServer, secure: SecureServing, tmp_path: Path
) -> None:
    found = user_of(await ask(server), tmp_path)
    certificate = x509.load_pem_x509_certificate(found["certificate"])
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(secure.credentials().authority))
    spki = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    assert load_pem_private_key(found["key"], None).public_key().public_bytes(*spki) == certificate.public_key().public_bytes(*spki)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [one.dotted_string for one in usage] == ["1.3.6.1.5.5.7.3.2"]  # client authentication, and nothing else
    assert found["key"] != user_of(await ask(server), tmp_path)["key"]


async def test_user_groups_and_duration_can_be_chosen(server: InProcessServer, tmp_path: Path) -> None:
    response = await ask(server, {"user": "ann@acme.com", "groups": ["staff", "qa"], "expirationSeconds": 86400})
    identity = user_of(response, tmp_path)["identity"]
    assert identity.user == User("111111-ann@acme.com", ("staff", "qa", "system:authenticated"), tenant="111111")
    assert identity.not_after == NOW + 86400


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"user": "system:admin"}, "spec.user"),
        ({"user": "a/b"}, "spec.user"),
        ({"user": "-a"}, "spec.user"),
        ({"user": ""}, "spec.user"),
        ({"user": "a" * 58}, "spec.user"),
        ({"expirationSeconds": 599}, "spec.expirationSeconds"),
        ({"expirationSeconds": 86401}, "spec.expirationSeconds"),
        ({"expirationSeconds": 0}, "spec.expirationSeconds"),
        ({"groups": ["system:masters"]}, "spec.groups[0]"),
        ({"groups": ["a", "system:nodes"]}, "spec.groups[1]"),
        ({"groups": [""]}, "spec.groups[0]"),
        ({"groups": ["a\n"]}, "spec.groups[0]"),
    ],
)
async def test_what_cannot_be_issued_is_refused(server: InProcessServer, spec: dict[str, Any], field: str) -> None:
    response = await ask(server, spec)
    assert (response.code, [cause["field"] for cause in response.json["details"]["causes"]]) == (422, [field])


async def test_tenant_must_exist(server: InProcessServer) -> None:
    assert (await ask(server, tenant="222222")).code == 404


async def test_users_of_a_terminating_tenant_get_credentials(server: InProcessServer) -> None:
    await server.request("DELETE", f"{TENANTS}/111111")
    assert (await server.request("GET", f"{TENANTS}/111111")).json["metadata"]["deletionTimestamp"]
    assert (await ask(server)).code == 201


async def test_dry_run_issues_nothing(server: InProcessServer) -> None:
    response = await ask(server, dryRun="All")
    assert (response.code, response.json["status"]["kubeconfig"]) == (201, "")


async def test_other_bodies_are_refused(server: InProcessServer) -> None:
    bodies: list[Any] = [{"kind": "Tenant"}, [], {"spec": {"user": 7}}]
    for body in bodies:
        assert (await server.request("POST", f"{TENANTS}/111111/kubeconfig", body)).code == 400


async def test_without_users_there_are_no_credentials() -> None:
    async with running(clock=FakeClock(NOW), collects=False) as server:
        await server.request("POST", TENANTS, {"metadata": {"name": "111111"}})
        response = await ask(server)
        assert (response.code, response.json["reason"]) == (405, "MethodNotAllowed")
        assert "Start it without --insecure" in response.json["message"]


def test_audit_log_has_no_keys() -> None:
    info = RequestInfo("create", "/", "tenant.kubezoo.io", resource="tenants", subresource="kubeconfig")
    answer = {"kind": "TenantKubeconfig", "status": {"kubeconfig": "secret", "expirationTimestamp": "t"}}
    redacted = redaction.redact_response(info, answer)
    assert redacted["status"] == {"kubeconfig": redaction.REDACTED, "expirationTimestamp": "t"}
