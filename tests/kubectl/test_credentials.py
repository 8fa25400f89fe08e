"""Every kind of credential on a real server, with kubectl 1.37 and with clients in Python: the good ones, and the others."""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from kubectl_program import Kubectl
from oidc_issuer import Issuer, issuing
from probate.server.tls import authority
from probate.server.tls.authority import Pair, Subject

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PROBATE = [sys.executable, "-m", "probate"]
DAY = 86400


class Site(NamedTuple):
    """A server with everything switched on, and what tests need to know of it."""

    url: str
    folder: Path
    program: Path
    home: Path
    issuer: Issuer
    token: str  # that is listed in its file

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "probate.kubeconfig"

    def kubectl(self, kubeconfig: Path | None = None) -> Kubectl:
        return Kubectl(self.program, kubeconfig or self.kubeconfig, self.home, self.folder)

    def client(self, token: str = "", pair: Pair | None = None) -> httpx.Client:
        """A client in Python."""
        context = ssl.create_default_context(cafile=str(self.folder / "probate.pki" / "ca.crt"))
        if pair is not None:
            (self.folder / "client.pem").write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(self.folder / "client.pem")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=30)

    def issue(self, subject: Subject, *, began: float = 0.0, seconds: float = DAY) -> Pair:
        """A client's certificate."""
        pki = self.folder / "probate.pki"
        signer = Pair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
        return authority.issue(signer, subject, time.time() + began, lifetime=timedelta(seconds=seconds))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[Site]:
    folder, home = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("home")
    made = subprocess.run([*PROBATE, "token", "ann", "--group", "staff"], capture_output=True, text=True, check=True)
    (folder / "tokens.csv").write_text(made.stdout)
    with issuing(folder) as issuer:
        command = [*PROBATE, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--token-file", "tokens.csv"]
        command += ["--oidc-issuer-url", issuer.url, "--oidc-client-id", "probate", "--oidc-username-prefix", "-"]
        command += ["--oidc-ca-file", str(issuer.ca_file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
            assert process.stdout is not None
            greeting = re.search(r"https://\S+", process.stdout.readline())
            assert greeting is not None
            yield Site(greeting[0], folder, kubectls / "1.37" / "kubectl", home, issuer, made.stderr.strip())
            process.terminate()
            assert process.wait(timeout=20) == 0


def told(site: Site, **credentials: Any) -> tuple[int, str]:
    """The code, and who the server thinks it is."""
    with site.client(**credentials) as client:
        answer = client.post(WHO, json={})
        return answer.status_code, answer.json().get("status", {}).get("userInfo", {}).get(
            "username", ""
        ) if answer.is_success else ""


def test_the_admins_kubeconfig_is_for_its_owner_and_may_do_anything(site: Site) -> None:
    assert site.kubeconfig.stat().st_mode & 0o777 == 0o600
    admin = site.kubectl()
    assert "probate-admin" in admin("auth", "whoami")
    assert admin("auth", "can-i", "*", "*", "-A") == "yes\n"
    assert "default" in admin("get", "namespaces")


def test_pods_are_told_what_the_server_is_known_by(site: Site) -> None:
    admin = site.kubectl()
    admin("wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=20s")
    told = admin("get", "configmap", "kube-root-ca.crt", "-o", r"jsonpath={.data.ca\.crt}")
    assert told == (site.folder / "probate.pki" / "ca.crt").read_text()


def test_client_certificates(site: Site, tmp_path: Path) -> None:
    pair = site.issue(Subject("carol", ("staff",)))
    assert told(site, pair=pair) == (201, "carol")
    known = yaml.safe_load(site.kubeconfig.read_text())
    certificate, key = (base64.b64encode(part).decode() for part in pair)
    known["users"][0]["user"] = {"client-certificate-data": certificate, "client-key-data": key}
    (tmp_path / "carol").write_text(yaml.safe_dump(known))
    carol = site.kubectl(tmp_path / "carol")
    assert "[staff system:authenticated]" in carol("auth", "whoami")
    refused = carol("get", "secrets", fails=True)
    assert 'User "carol" cannot list resource "secrets" in API group "" in the namespace "default"' in refused


@pytest.mark.parametrize(("began", "seconds"), [(-3 * DAY, DAY), (DAY, DAY)], ids=["over", "not begun"])
def test_client_certificates_of_another_time(site: Site, began: float, seconds: float) -> None:
    assert told(site, pair=site.issue(Subject("mallory", ("system:masters",)), began=began, seconds=seconds)) == (401, "")


def test_client_certificates_of_another_authority(site: Site) -> None:
    other = authority.new_authority(time.time(), lifetime=timedelta(days=1))
    forged = authority.issue(other, Subject("mallory", ("system:masters",)), time.time(), lifetime=timedelta(days=1))
    with site.client(pair=forged) as client, pytest.raises((httpx.ReadError, httpx.ConnectError, httpx.RemoteProtocolError)):
        client.get("/api")


def with_token(site: Site, path: Path, token: str) -> Kubectl:
    known = yaml.safe_load(site.kubeconfig.read_text())
    known["users"][0]["user"] = {"token": token}
    path.write_text(yaml.safe_dump(known))
    return site.kubectl(path)


def test_tokens_of_the_file(site: Site, tmp_path: Path) -> None:
    assert told(site, token=site.token) == (201, "ann")
    assert "[staff system:authenticated]" in with_token(site, tmp_path / "ann", site.token)("auth", "whoami")
    listed = (site.folder / "tokens.csv").read_text().split(",")[0]
    for wrong in (site.token[:-1], site.token.upper(), listed):
        assert told(site, token=wrong) == (401, "")
    assert "must be logged in" in with_token(site, tmp_path / "wrong", "wrong")("get", "pods", fails=True)


def test_tokens_of_service_accounts(site: Site, tmp_path: Path) -> None:
    admin = site.kubectl()
    admin("create", "serviceaccount", "robot")
    admin("create", "rolebinding", "robot", "--clusterrole=view", "--serviceaccount=default:robot")
    token = admin("create", "token", "robot", "--duration=10m").strip()
    robot = with_token(site, tmp_path / "robot", token)
    assert robot("auth", "can-i", "list", "pods") == "yes\n"
    assert "No resources found" in robot("get", "pods")
    assert "cannot list resource" in robot("get", "pods", "-n", "kube-system", fails=True)
    vault = admin("create", "token", "robot", "--audience=vault").strip()
    assert told(site, token=vault) == (401, "")
    admin("delete", "serviceaccount", "robot")
    assert told(site, token=token) == (401, "")


def test_tokens_of_an_issuer(site: Site, tmp_path: Path) -> None:
    claims = {"iss": site.issuer.url, "aud": "probate", "sub": "dave", "exp": int(time.time()) + 600}
    token = site.issuer.keys[0].token(claims)
    assert told(site, token=token) == (201, "dave")
    assert "dave" in with_token(site, tmp_path / "dave", token)("auth", "whoami")
    for wrong in ({"exp": int(time.time()) - 1}, {"aud": "others"}, {"nbf": int(time.time()) + 600}):
        assert told(site, token=site.issuer.keys[0].token({**claims, **wrong})) == (401, "")


def test_nobody_in_particular(site: Site) -> None:
    with site.client() as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/version").status_code == 401
        assert client.get("/api/v1/secrets").json()["message"] == "Unauthorized"


def test_plain_http_is_not_spoken(site: Site) -> None:
    with httpx.Client(timeout=10) as client, pytest.raises(httpx.TransportError):
        client.get(site.url.replace("https", "http") + "/livez")


def test_a_request_that_is_none_is_told_so_over_tls(site: Site) -> None:
    host, port = site.url.removeprefix("https://").split(":")
    context = ssl.create_default_context(cafile=str(site.folder / "probate.pki" / "ca.crt"))
    import socket  # noqa: PLC0415

    with socket.create_connection((host, int(port)), timeout=10) as plain, context.wrap_socket(plain, server_hostname=host) as sent:
        sent.sendall(b"NONSENSE\r\n\r\n")
        assert sent.recv(4096).startswith(b"HTTP/1.1 400")
