"""CA bundles: every certificate of a bundle is a trust anchor, as for clients written in Go."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from probate.server.authn import oidc
from support import oidc_issuer, sample_kinds
from support.in_process_server import InProcessServer, Response, running
from support.webhook_servers import allow, configuration, serving

VALIDATING = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
CA = trustme.CA()
LEAF = CA.issue_cert("127.0.0.1")
OTHER = CA.issue_cert("127.0.0.1")
NAMELESS = CA.issue_cert(common_name="localhost")


def shown_by(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    leaf.configure_cert(context)
    return context


def pem(leaf: trustme.LeafCert) -> bytes:
    return leaf.cert_chain_pems[0].bytes()


def self_signed(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """A server's TLS context and its self-signed certificate, which is not a CA."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now - dt.timedelta(1), now + dt.timedelta(1)
    )
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    made = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True).sign(key, hashes.SHA256())
    certificate = made.public_bytes(Encoding.PEM)
    file = folder / "self-signed.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context, certificate


async def asked(house: InProcessServer, url: str, bundle: bytes) -> Response:
    """Returns the response to a create that calls a webhook at this URL with this bundle."""
    client = {"url": url, "caBundle": base64.b64encode(bundle).decode()}
    await house.create(VALIDATING, "", configuration(VALIDATING, client))
    return await house.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})


BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
BUNDLES = {
    "the server's own certificate": pem(LEAF),
    "its authority": CA.cert_pem.bytes(),
    "several": pem(OTHER) + pem(LEAF),
    "lines that end with CR and LF": pem(LEAF).replace(b"\n", b"\r\n"),
    "text around it": "# für 127.0.0.1\n".encode() + pem(LEAF) + b"# that was all",
    "a key and a broken certificate beside it": OTHER.private_key_pem.bytes() + BROKEN + pem(LEAF),
    "the same one twice": pem(LEAF) * 2,
    "no end of line": pem(LEAF).rstrip(),
}


@pytest.mark.parametrize("bundle", BUNDLES.values(), ids=BUNDLES)
async def test_webhook_whose_bundle_is_its_own_certificate_is_called(bundle: bytes) -> None:
    async with running(collects=False) as house, serving(allow, context=shown_by(LEAF)) as hook:
        told = await asked(house, hook.url, bundle)
        assert (told.code, len(hook.reviews)) == (201, 1), told.body


async def test_webhook_with_a_self_signed_non_ca_certificate_is_called(tmp_path: Path) -> None:
    context, certificate = self_signed(tmp_path)
    async with running(collects=False) as house, serving(allow, context=context) as hook:
        assert (await asked(house, hook.url, certificate)).code == 201


UNTRUSTED = {
    "the certificate of another server, by the same authority": ("127.0.0.1", LEAF, pem(OTHER)),
    "another name": ("localhost", LEAF, pem(LEAF)),
    "a common name, and no other": ("localhost", NAMELESS, pem(NAMELESS)),
    "another authority": ("127.0.0.1", LEAF, trustme.CA().cert_pem.bytes()),
    "no certificate": ("127.0.0.1", LEAF, BROKEN),
}


@pytest.mark.parametrize(("host", "leaf", "bundle"), UNTRUSTED.values(), ids=UNTRUSTED)
async def test_webhook_not_covered_by_the_bundle_is_not_called(host: str, leaf: trustme.LeafCert, bundle: bytes) -> None:
    async with running(collects=False) as house, serving(allow, context=shown_by(leaf)) as hook:
        told = await asked(house, f"https://{host}:{hook.port}", bundle)
        assert (told.code, hook.reviews) == (500, []), told.body
        assert "failed to verify certificate" in told.json["message"] or "unable to load root" in told.json["message"]


async def test_conversion_webhook_whose_bundle_is_its_own_certificate_is_called() -> None:
    def convert(review: Any) -> Any:
        request = review["request"]
        done = [{**one, "apiVersion": request["desiredAPIVersion"]} for one in request["objects"]]
        return {**review, "response": {"uid": request["uid"], "convertedObjects": done, "result": {"status": "Success"}}}

    async with running(collects=False) as house, serving(convert, context=shown_by(LEAF)) as hook:
        made = sample_kinds.definition("widget")
        first = made["spec"]["versions"][0]
        made["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
        client = {"url": hook.url, "caBundle": base64.b64encode(pem(LEAF)).decode()}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        await house.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", made)
        kind = sample_kinds.KINDS["widget"]
        body = {**sample_kinds.body("widget"), "metadata": {"name": "w"}}
        assert (await house.request("POST", kind.path("default"), body)).code == 201
        told = await house.request("GET", kind.path("default", "w").replace("/v1/", "/v2/"))
        assert (told.code, len(hook.reviews)) == (200, 1), told.body


def test_issuer_whose_ca_file_is_its_own_certificate_is_trusted(tmp_path: Path) -> None:
    with oidc_issuer.run_issuer(tmp_path) as issuer:
        address = issuer.url.removeprefix("https://").split(":")
        leaf = ssl.get_server_certificate((address[0], int(address[1])))
        file = tmp_path / "leaf.pem"
        file.write_text(leaf)
        assert "one" in oidc.fetch_keys(oidc.Issuer(issuer.url, "probate", ca_file=str(file)))
