"""Every kind of credential that is good, on a real server over TLS, with kubectl 1.37 and with the Python client of Kubernetes."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from support import secured_server, signed_certificates
from support.certificate_requests import asked, key_pem, new_key, object_of, subject
from support.client_programs import Program
from support.secured_server import Site

HERE = Path(__file__).parent


class Person(NamedTuple):
    """Who asks, and what the server should call them."""

    user: dict[str, str]  # of a kubeconfig
    name: str
    groups: list[str]


ROBOT = "system:serviceaccount:default:robot"
ROBOTS = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
KINDS = ["certificate", "asked-for", "of-others", "through-one-between", "listed-token", "account-token", "bound-token", "id-token"]


@pytest.fixture(scope="module")
def people(site: Site, admin: Program) -> dict[str, Person]:
    """One of each kind. All of them may view what is in `default`, and nothing else."""
    admin("create", "serviceaccount", "robot")
    admin("run", "bound", "--image=none", "--overrides", '{"spec": {"serviceAccountName": "robot"}}')
    between = signed_certificates.between(site.others, "between")
    people = {
        "certificate": Person(_shown(signed_certificates.of(site.authority, "carol", ["staff"])), "carol", ["staff"]),
        "asked-for": Person(_asked_for(site, admin), "nina", ["staff"]),
        "of-others": Person(_shown(signed_certificates.of(site.others, "oscar", ["staff", "crew"])), "oscar", ["staff", "crew"]),
        "through-one-between": Person(_shown(signed_certificates.of(between, "betty")), "betty", []),
        "listed-token": Person({"token": site.token}, "ann", ["staff"]),
        "account-token": Person({"token": admin("create", "token", "robot").strip()}, ROBOT, ROBOTS),
        "bound-token": Person(
            {"token": admin("create", "token", "robot", "--bound-object-kind=Pod", "--bound-object-name=bound").strip()},
            ROBOT,
            ROBOTS,
        ),
        "id-token": Person({"token": site.id_token()}, "dave", ["staff"]),
    }
    names = sorted({person.name for person in people.values()})
    admin("create", "rolebinding", "people", "--clusterrole=view", *(f"--user={name}" for name in names))
    site.handed_out += [person.user["token"] for person in people.values() if "token" in person.user]
    return people


def _asked_for(site: Site, admin: Program) -> dict[str, str]:
    """With a certificate that nina asks for, and that the admin approves."""
    key, file = new_key(), site.folder / "request.json"
    file.write_text(json.dumps(object_of(asked(subject("nina", "staff"), key), "nina", expirationSeconds=3600)))
    admin("create", "-f", str(file))
    assert "approved" in admin("certificate", "approve", "nina")
    admin("wait", "csr/nina", "--for=jsonpath={.status.certificate}")
    assert "Approved,Issued" in admin("get", "csr", "nina")
    certificate = admin("get", "csr", "nina", "-o", "jsonpath={.status.certificate}")
    return {"client-certificate-data": certificate, "client-key-data": base64.b64encode(key_pem(key)).decode()}


def _shown(one: signed_certificates.Signed) -> dict[str, str]:
    return secured_server.with_certificate(one)


def _groups(person: Person) -> list[str]:
    return [*person.groups, *(["system:authenticated"] if "system:authenticated" not in person.groups else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_kubectl(kind: str, site: Site, people: dict[str, Person], kubectls: Path, homes: Path, tmp_path: Path) -> None:
    person = people[kind]
    kubectl = site.kubectl(kubectls / "1.37" / "kubectl", homes / kind, site.kubeconfig(tmp_path / "config", person.user))
    found = json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert (found["username"], found["groups"]) == (person.name, _groups(person))
    assert "kube-root-ca.crt" in kubectl("get", "configmaps")
    refused = kubectl("get", "secrets", fails=True)
    told = f'User "{person.name}" cannot list resource "secrets" in API group "" in the namespace "default"'
    assert told in refused


def test_the_python_client(site: Site, people: dict[str, Person], clients: Path, homes: Path, tmp_path: Path) -> None:
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    files = [site.kubeconfig(tmp_path / kind, person.user) for kind, person in people.items()]
    found = json.loads(python(HERE / "sessions" / "credentials.py", *files))
    for person, told in zip(people.values(), found, strict=True):
        assert (told["username"], told["groups"]) == (person.name, _groups(person))
        assert "kube-root-ca.crt" in told["configmaps"]
        assert told["secrets"] == 403


def test_the_admins_kubeconfig_is_for_its_owner_and_may_do_anything(
    site: Site, admin: Program, clients: Path, homes: Path, tmp_path: Path
) -> None:
    assert site.server.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert "probate-admin" in admin("auth", "whoami")
    assert admin("auth", "can-i", "*", "*", "-A") == "yes\n"
    assert "default" in admin("get", "namespaces")
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    (told,) = json.loads(python(HERE / "sessions" / "credentials.py", site.server.kubeconfig))
    assert told["username"] == "probate-admin"
    assert told["secrets"] == 200


def test_acting_as_somebody_else(site: Site, admin: Program, clients: Path, homes: Path, tmp_path: Path) -> None:
    assert '"username":"zoe"' in admin("auth", "whoami", "--as=zoe", "--as-group=g", "-o", "json").replace(" ", "")
    assert "cannot list resource" in admin("get", "pods", "--as=zoe", fails=True)
    kubeconfig = site.kubeconfig(tmp_path / "listed", {"token": site.token})
    ann = site.kubectl(admin.path, homes / "ann", kubeconfig)
    ann("api-resources")  # so that what is refused is not what it asks about kinds
    assert 'User "ann" cannot impersonate resource "users"' in ann("get", "pods", "--as=zoe", fails=True)
    admin("create", "clusterrole", "as-zoe", "--verb=impersonate", "--resource=users", "--resource-name=zoe")
    admin("create", "clusterrolebinding", "as-zoe", "--clusterrole=as-zoe", "--user=ann")
    assert '"username":"zoe"' in ann("auth", "whoami", "--as=zoe", "-o", "json").replace(" ", "")
    assert "cannot impersonate" in ann("get", "pods", "--as=zoe", "--as-group=system:masters", fails=True)
    python = Program(clients / "python" / "bin" / "python", kubeconfig, homes / "python")
    (told,) = json.loads(python(HERE / "sessions" / "credentials.py", kubeconfig, "--as", "zoe"))
    assert told["username"] == "zoe"


def test_nobody_in_particular(site: Site, clients: Path, homes: Path, tmp_path: Path) -> None:
    for path in ("/livez", "/readyz", "/healthz"):
        assert site.ask("GET", path).code == 200
    assert site.ask("GET", "/version").code == 401
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    (told,) = json.loads(python(HERE / "sessions" / "credentials.py", site.kubeconfig(tmp_path / "nobody", {})))
    assert told["code"] == 401


def test_pods_are_told_what_the_server_is_known_by(site: Site, admin: Program) -> None:
    admin("wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=60s")
    told = admin("get", "configmap", "kube-root-ca.crt", "-o", r"jsonpath={.data.ca\.crt}")
    assert told == (site.folder / "probate.pki" / "ca.crt").read_text()


def test_plain_http_is_not_spoken(site: Site) -> None:
    with httpx.Client(timeout=10) as client, pytest.raises(httpx.TransportError):
        client.get(site.server.url.replace("https", "http") + "/livez")


def test_a_request_that_is_none_is_told_so_over_tls(site: Site) -> None:
    host, port = site.server.url.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        sent = site.context().wrap_socket(plain, server_hostname=host)
        sent.sendall(b"NONSENSE\r\n\r\n")
        assert sent.recv(4096).startswith(b"HTTP/1.1 400")
        sent.close()


def test_no_credential_is_in_the_servers_log(site: Site, people: dict[str, Person]) -> None:
    log = site.server.log.read_text()
    assert not [shown for shown in site.handed_out if shown in log or shown.split(".")[-1] in log]
    assert "PRIVATE KEY" not in log
