"""What the server's authority signs for clients, and what it does not."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID

from probate.http.tls import authority, csr_signing
from probate.kinds.certificates.signers import Unfit, Wanted
from support.certificate_requests import CLIENT, GROUP, KUBELET, NAME, UNIT, asked, new_key, subject

NOW = 1_800_000_000.0
DAY = 86400.0
CA = authority.new_authority(NOW, lifetime=timedelta(days=3650))
USAGES = ("client auth",)
NODE = ("digital signature", "key encipherment", "client auth")


def signed(
    pem: bytes, signer: str = CLIENT, usages: tuple[str, ...] = USAGES, seconds: int | None = None, ca: Any = CA
) -> x509.Certificate:
    return x509.load_pem_x509_certificate(csr_signing.signed(ca, Wanted(signer, pem, usages, seconds), NOW))


def texts(made: x509.Certificate, oid: Any) -> list[Any]:
    return [one.value for one in made.subject.get_attributes_for_oid(oid)]


def extension(made: x509.Certificate, kind: Any) -> Any:
    return made.extensions.get_extension_for_class(kind).value


def test_a_client_has_its_name_its_groups_and_its_own_key() -> None:
    key = new_key()
    made = signed(asked(subject("ann", "staff", "ops"), key))
    assert (texts(made, NAME), texts(made, GROUP)) == (["ann"], ["staff", "ops"])
    assert made.public_key() == key.public_key()
    made.verify_directly_issued_by(x509.load_pem_x509_certificate(CA.certificate))


def test_names_may_be_longer_than_those_of_hosts() -> None:
    name = "system:serviceaccount:" + "a" * 100
    with pytest.warns(UserWarning, match="length"):
        pem = asked(subject(name))
    made = csr_signing.signed(CA, Wanted(CLIENT, pem, USAGES), NOW)
    with pytest.warns(UserWarning, match="length"):
        assert texts(x509.load_pem_x509_certificate(made), NAME) == [name]


def test_usages_are_those_that_were_asked_for_and_nothing_else() -> None:
    made = signed(asked(subject("ann")), usages=("digital signature", "client auth"))
    usage = extension(made, x509.KeyUsage)
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign, usage.crl_sign) == (True, False, False, False)
    assert list(extension(made, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        extension(signed(asked(subject("ann"))), x509.KeyUsage)


def test_extensions_of_the_request_are_not_taken_over() -> None:
    everything = x509.KeyUsage(
        digital_signature=True,
        content_commitment=True,
        key_encipherment=True,
        data_encipherment=True,
        key_agreement=True,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    wishes = [
        x509.BasicConstraints(ca=True, path_length=None),
        everything,
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]),
        x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00"),
    ]
    made = signed(asked(subject("ann"), extensions=wishes))
    assert extension(made, x509.BasicConstraints) == x509.BasicConstraints(ca=False, path_length=None)
    assert list(extension(made, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    kinds = {type(one.value) for one in made.extensions}
    assert kinds == {x509.BasicConstraints, x509.ExtendedKeyUsage, x509.AuthorityKeyIdentifier}


def test_other_names_of_four_kinds_are_taken_over() -> None:
    names: list[x509.GeneralName] = [
        x509.DNSName("a.example.com"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.RFC822Name("a@example.com"),
        x509.UniformResourceIdentifier("spiffe://a"),
    ]
    others: list[x509.GeneralName] = [x509.RegisteredID(x509.ObjectIdentifier("1.2.3")), x509.DirectoryName(subject("root"))]
    made = signed(asked(subject("ann"), extensions=[x509.SubjectAlternativeName(names + others)]))
    assert list(extension(made, x509.SubjectAlternativeName)) == names


def test_of_the_subject_only_the_name_and_the_groups_are_taken_over() -> None:
    who = x509.Name(
        [*subject("ann", "staff"), x509.NameAttribute(UNIT, "unit"), x509.NameAttribute(x509.ObjectIdentifier("1.2.3"), "x")]
    )
    assert signed(asked(who)).subject == subject("ann", "staff")


@pytest.mark.parametrize(
    ("wanted", "expected"), [(None, 365 * DAY), (3600, 3600), (600, 600), (10, 600), (-1, 600), (2**31 - 1, 365 * DAY)]
)
def test_for_how_long_it_is(wanted: int | None, expected: float) -> None:
    made, begin = signed(asked(subject("ann")), seconds=wanted), datetime.fromtimestamp(NOW, UTC)
    assert made.not_valid_before_utc == begin - authority.EARLY
    assert made.not_valid_after_utc == begin + timedelta(seconds=expected)


def test_it_does_not_outlast_the_authority() -> None:
    ca = authority.new_authority(NOW, lifetime=timedelta(hours=1))
    assert signed(asked(subject("ann")), ca=ca).not_valid_after_utc == datetime.fromtimestamp(NOW + 3600, UTC)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda: rsa.generate_private_key(65537, 2048), id="RSA"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP384R1()), id="P-384"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP521R1()), id="P-521"),
        pytest.param(ed25519.Ed25519PrivateKey.generate, id="Ed25519"),
    ],
)
def test_keys_that_are_good(key: Any) -> None:
    own = key()
    assert signed(asked(subject("ann"), own)).public_key() == own.public_key()


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda: rsa.generate_private_key(65537, 1024), id="short"),  # noqa: S505 that is why
        pytest.param(lambda: ec.generate_private_key(ec.SECP256K1()), id="curve"),
    ],
)
def test_keys_that_are_not(key: Any) -> None:
    with pytest.raises(Unfit, match="signed with its own key"):
        signed(asked(subject("ann"), key()))


def test_key_that_the_author_does_not_have() -> None:
    """The signature is another's: everybody could ask for a certificate of a key that is not theirs."""
    lines = asked(subject("ann")).splitlines()
    der = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    der[-1] ^= 1
    pem = b"\n".join([lines[0], base64.encodebytes(bytes(der)).strip(), lines[-1], b""])
    with pytest.raises(Unfit, match="signed with its own key"):
        signed(pem)


MASTERS = "system:masters"


@pytest.mark.parametrize("signer", [CLIENT, KUBELET])
@pytest.mark.parametrize(
    "who",
    [
        pytest.param(subject("ann", MASTERS), id="group"),
        pytest.param(subject("ann", "staff", MASTERS), id="one of several"),
        pytest.param(
            x509.Name([x509.NameAttribute(GROUP, MASTERS, _ASN1Type.BMPString), *subject("ann")]), id="in wide characters"
        ),
        pytest.param(
            x509.Name([x509.NameAttribute(GROUP, MASTERS, _ASN1Type.PrintableString), *subject("ann")]), id="in another alphabet"
        ),
        pytest.param(
            x509.Name([x509.RelativeDistinguishedName([x509.NameAttribute(NAME, "ann"), x509.NameAttribute(GROUP, MASTERS)])]),
            id="in one piece with the name",
        ),
    ],
)
def test_nobody_becomes_a_master(who: x509.Name, signer: str) -> None:
    with pytest.raises(Unfit, match="system:masters group is not allowed"):
        signed(asked(who), signer, NODE)


@pytest.mark.parametrize(
    ("who", "why"),
    [
        pytest.param(subject(""), "one common name", id="nobody"),
        pytest.param(x509.Name([*subject("ann"), *subject("root")]), "one common name", id="two"),
        pytest.param(subject("ann\0root"), "nobody can see", id="NUL"),
        pytest.param(subject("ann", "staff\n"), "nobody can see", id="line"),
    ],
)
def test_subjects_that_can_be_read_in_two_ways(who: x509.Name, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        signed(asked(who))


@pytest.mark.parametrize(
    ("usages", "why"),
    [
        (("client auth", "server auth"), "invalid usage for client certificate: server auth"),
        (("client auth", "cert sign"), "invalid usage for client certificate: cert sign"),
        (("client auth", "any"), "invalid usage for client certificate: any"),
        (("digital signature",), "missing required usage for client certificate: client auth"),
    ],
)
def test_usages_that_are_not_a_clients(usages: tuple[str, ...], why: str) -> None:
    with pytest.raises(Unfit, match=why):
        signed(asked(subject("ann")), usages=usages)


@pytest.mark.parametrize(
    ("who", "usages", "names", "why"),
    [
        pytest.param(subject("system:node:n", "system:nodes"), NODE, [], "", id="node"),
        pytest.param(subject("system:node:n", "system:nodes"), NODE[::2], [], "", id="without RSA"),
        pytest.param(subject("system:node:n"), NODE, [], "organization is not system:nodes", id="no group"),
        pytest.param(subject("system:node:n", "system:nodes", "a"), NODE, [], "organization is not", id="one more group"),
        pytest.param(subject("n", "system:nodes"), NODE, [], "does not begin with system:node:", id="another name"),
        pytest.param(subject("system:node:n", "system:nodes"), USAGES, [], "usages did not match", id="usages"),
        pytest.param(
            subject("system:node:n", "system:nodes"), NODE, [x509.DNSName("a")], "DNS subjectAltNames are not allowed", id="names"
        ),
    ],
)
def test_rules_of_kubelets(who: x509.Name, usages: tuple[str, ...], names: list[x509.GeneralName], why: str) -> None:
    pem = asked(who, extensions=[x509.SubjectAlternativeName(names)] if names else [])
    if why:
        with pytest.raises(Unfit, match=why):
            signed(pem, KUBELET, usages)
    else:
        assert signed(pem, KUBELET, usages).subject == who


@pytest.mark.parametrize("signer", ["kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown", "example.com/s"])
def test_other_signers_are_not_here(signer: str) -> None:
    with pytest.raises(Unfit, match="there is no signer"):
        signed(asked(subject("ann")), signer)


@pytest.mark.parametrize(
    "pem", [b"", b"x", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", b"x" * 100_000]
)
def test_what_is_no_request_is_not_signed(pem: bytes) -> None:
    with pytest.raises(Unfit, match="the request"):
        signed(pem)
