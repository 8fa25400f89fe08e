"""Every kind of valid credential on a real server over TLS, with kubectl 1.37 and the Python client of Kubernetes."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from support import secured_server, signed_certificates
from support.certificate_requests import csr_object, csr_pem, key_pem, new_key, subject
from support.client_programs import Program
from support.secured_server import SecuredServer

HERE = Path(__file__).parent


class Credential(NamedTuple):
    """A credential, and the user that the server should authenticate."""

    user: dict[str, str]  # the user of a kubeconfig
    name: str
    groups: list[str]


ROBOT = "system:serviceaccount:default:robot"
ROBOTS = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
KINDS = ["certificate", "asked-for", "of-others", "through-one-between", "listed-token", "account-token", "bound-token", "id-token"]


@pytest.fixture(scope="module")
def credentials(site: SecuredServer, admin: Program) -> dict[str, Credential]:
    """One credential of each kind. Each may view the namespace `default`, and nothing else."""
    admin("create", "serviceaccount", "robot")
    admin("run", "bound", "--image=none", "--overrides", '{"spec": {"serviceAccountName": "robot"}}')
    between = signed_certificates.new_intermediate(site.other_ca, "between")
    credentials = {
        "certificate": Credential(
            _certificate_user(signed_certificates.new_leaf(site.authority, "carol", ["staff"])), "carol", ["staff"]
        ),
        "asked-for": Credential(_request_certificate(site, admin), "nina", ["staff"]),
        "of-others": Credential(
            _certificate_user(signed_certificates.new_leaf(site.other_ca, "oscar", ["staff", "crew"])), "oscar", ["staff", "crew"]
        ),
        "through-one-between": Credential(_certificate_user(signed_certificates.new_leaf(between, "betty")), "betty", []),
        "listed-token": Credential({"token": site.token}, "ann", ["staff"]),
        "account-token": Credential({"token": admin("create", "token", "robot").strip()}, ROBOT, ROBOTS),
        "bound-token": Credential(
            {"token": admin("create", "token", "robot", "--bound-object-kind=Pod", "--bound-object-name=bound").strip()},
            ROBOT,
            ROBOTS,
        ),
        "id-token": Credential({"token": site.id_token()}, "dave", ["staff"]),
    }
    names = sorted({credential.name for credential in credentials.values()})
    admin("create", "rolebinding", "people", "--clusterrole=view", *(f"--user={name}" for name in names))
    site.issued_tokens += [credential.user["token"] for credential in credentials.values() if "token" in credential.user]
    return credentials


def _request_certificate(site: SecuredServer, admin: Program) -> dict[str, str]:
    """Returns a certificate that nina requests and the admin approves."""
    key, file = new_key(), site.folder / "request.json"
    file.write_text(json.dumps(csr_object(csr_pem(subject("nina", "staff"), key), "nina", expirationSeconds=3600)))
    admin("create", "-f", str(file))
    assert "approved" in admin("certificate", "approve", "nina")
    admin("wait", "csr/nina", "--for=jsonpath={.status.certificate}")
    assert "Approved,Issued" in admin("get", "csr", "nina")
    certificate = admin("get", "csr", "nina", "-o", "jsonpath={.status.certificate}")
    return {"client-certificate-data": certificate, "client-key-data": base64.b64encode(key_pem(key)).decode()}


def _certificate_user(one: signed_certificates.SignedCertificate) -> dict[str, str]:
    return secured_server.certificate_user(one)


def _groups(credential: Credential) -> list[str]:
    return [*credential.groups, *(["system:authenticated"] if "system:authenticated" not in credential.groups else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_kubectl(
    kind: str, site: SecuredServer, credentials: dict[str, Credential], kubectls: Path, homes: Path, tmp_path: Path
) -> None:
    credential = credentials[kind]
    kubectl = site.kubectl(kubectls / "1.37" / "kubectl", homes / kind, site.kubeconfig(tmp_path / "config", credential.user))
    found = json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert (found["username"], found["groups"]) == (credential.name, _groups(credential))
    assert "kube-root-ca.crt" in kubectl("get", "configmaps")
    refused = kubectl("get", "secrets", fails=True)
    response = f'User "{credential.name}" cannot list resource "secrets" in API group "" in the namespace "default"'
    assert response in refused


def test_the_python_client(
    site: SecuredServer, credentials: dict[str, Credential], clients: Path, homes: Path, tmp_path: Path
) -> None:
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    files = [site.kubeconfig(tmp_path / kind, credential.user) for kind, credential in credentials.items()]
    found = json.loads(python(HERE / "sessions" / "credentials.py", *files))
    for credential, response in zip(credentials.values(), found, strict=True):
        assert (response["username"], response["groups"]) == (credential.name, _groups(credential))
        assert "kube-root-ca.crt" in response["configmaps"]
        assert response["secrets"] == 403


def test_admin_kubeconfig_is_private_and_unrestricted(
    site: SecuredServer, admin: Program, clients: Path, homes: Path, tmp_path: Path
) -> None:
    assert site.server.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert "probate-admin" in admin("auth", "whoami")
    assert admin("auth", "can-i", "*", "*", "-A") == "yes\n"
    assert "default" in admin("get", "namespaces")
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    (response,) = json.loads(python(HERE / "sessions" / "credentials.py", site.server.kubeconfig))
    assert response["username"] == "probate-admin"
    assert response["secrets"] == 200


def test_impersonation(site: SecuredServer, admin: Program, clients: Path, homes: Path, tmp_path: Path) -> None:
    assert '"username":"zoe"' in admin("auth", "whoami", "--as=zoe", "--as-group=g", "-o", "json").replace(" ", "")
    assert "cannot list resource" in admin("get", "pods", "--as=zoe", fails=True)
    kubeconfig = site.kubeconfig(tmp_path / "listed", {"token": site.token})
    ann = site.kubectl(admin.path, homes / "ann", kubeconfig)
    ann("api-resources")  # caches discovery, so that the failing request is the one under test
    assert 'User "ann" cannot impersonate resource "users"' in ann("get", "pods", "--as=zoe", fails=True)
    admin("create", "clusterrole", "as-zoe", "--verb=impersonate", "--resource=users", "--resource-name=zoe")
    admin("create", "clusterrolebinding", "as-zoe", "--clusterrole=as-zoe", "--user=ann")
    assert '"username":"zoe"' in ann("auth", "whoami", "--as=zoe", "-o", "json").replace(" ", "")
    assert "cannot impersonate" in ann("get", "pods", "--as=zoe", "--as-group=system:masters", fails=True)
    python = Program(clients / "python" / "bin" / "python", kubeconfig, homes / "python")
    (response,) = json.loads(python(HERE / "sessions" / "credentials.py", kubeconfig, "--as", "zoe"))
    assert response["username"] == "zoe"


def test_anonymous_requests(site: SecuredServer, clients: Path, homes: Path, tmp_path: Path) -> None:
    for path in ("/livez", "/readyz", "/healthz"):
        assert site.ask("GET", path).code == 200
    assert site.ask("GET", "/version").code == 401
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    (response,) = json.loads(python(HERE / "sessions" / "credentials.py", site.kubeconfig(tmp_path / "nobody", {})))
    assert response["code"] == 401


def test_pods_get_the_root_ca(site: SecuredServer, admin: Program) -> None:
    admin("wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=60s")
    response = admin("get", "configmap", "kube-root-ca.crt", "-o", r"jsonpath={.data.ca\.crt}")
    assert response == (site.folder / "probate.pki" / "ca.crt").read_text()


def test_plain_http_is_refused(site: SecuredServer) -> None:
    with httpx.Client(timeout=10) as client, pytest.raises(httpx.TransportError):
        client.get(site.server.url.replace("https", "http") + "/livez")


def test_malformed_request_gets_an_error_over_tls(site: SecuredServer) -> None:
    host, port = site.server.url.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        sent = site.context().wrap_socket(plain, server_hostname=host)
        sent.sendall(b"NONSENSE\r\n\r\n")
        assert sent.recv(4096).startswith(b"HTTP/1.1 400")
        sent.close()


def test_valid_credentials_are_not_logged(site: SecuredServer, credentials: dict[str, Credential]) -> None:
    log = site.server.log.read_text()
    assert not [shown for shown in site.issued_tokens if shown in log or shown.split(".")[-1] in log]
    assert "PRIVATE KEY" not in log
