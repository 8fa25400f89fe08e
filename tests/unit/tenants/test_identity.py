"""Who is a user of a tenant: by certificate and by service account token, against the tenants that are stored now."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from probate.api import object_keys, tenants
from probate.api.rbac.users import User
from probate.core import errors
from probate.core.clock import FakeClock
from probate.http.tls import authority, client_certificates
from probate.http.tls.authority import Subject
from probate.http.tls.client_certificates import ClientIdentity, TenantClaim
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.service_accounts import TokenIssuer, TokenRequest
from probate.server.authn.token_authenticator import AuthenticatedToken
from probate.store import contract
from probate.store.contract import Store
from probate.store.sqlite.store import open_memory
from probate.tenants import identity

NOW = 1_800_000_000.0
CA = authority.new_authority(NOW, lifetime=timedelta(days=1))


def identity_of(subject: Subject, folder: Path) -> ClientIdentity | None:
    """Returns the identity in a new certificate, which Python's TLS module parses."""
    pair = authority.issue(CA, subject, NOW, lifetime=timedelta(hours=1))
    (folder / "client.crt").write_bytes(pair.certificate)
    decoded: dict[str, Any] = ssl._ssl._test_decode_cert(str(folder / "client.crt"))  # type: ignore[attr-defined]
    return client_certificates.parse_identity(decoded, [ssl.PEM_cert_to_DER_cert(pair.certificate.decode())])


class Tenants:
    """Tenants in a store, and an authenticator."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = FakeClock(NOW)
        self.accounts = TokenIssuer(store, self.clock)
        self.authenticator = RequestAuthenticator(self.clock, self.accounts)

    async def put(self, key: str, *entries: str, uid: str, **metadata: Any) -> None:
        value = orjson.dumps({"metadata": {"name": object_keys.name_in(key), "uid": uid, **metadata}})
        current = await self.store.read(key)
        if current is None:
            await self.store.commit(contract.create(key, value, add_entries=entries))
        else:
            await self.store.commit(contract.update(key, value, revision=current.revision))

    async def remove(self, key: str, *entries: str) -> None:
        current = await self.store.read(key)
        assert current is not None
        await self.store.commit(contract.delete(key, revision=current.revision, remove_entries=entries))

    async def create(self, tenant: str, uid: str, **metadata: Any) -> None:
        await self.put(tenants.tenant_key(tenant), tenants.open_entry(tenant), uid=uid, **metadata)

    async def create_account(self, namespace: str, owner: str = "") -> str:
        """Creates a namespace and an account in it, which are a tenant's if `owner` names one. Returns a token."""
        key = object_keys.object_key("namespaces", "", namespace)
        await self.put(key, *([tenants.content_entry(owner, key)] if owner else []), uid=namespace)
        await self.put(object_keys.object_key("serviceaccounts", namespace, "robot"), uid="u")
        return self.accounts.issue(TokenRequest(namespace, "robot", "u", (), 3600), id_="1")[0]

    async def user(self, peer: ClientIdentity | None = None, token: str = "") -> User | None:
        """Returns the user of a request with these credentials; None if it is refused. Both paths must agree."""
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        scope = {"headers": headers, "path": "/api", "peer": peer, "client": ("1.2.3.4", 1)}
        cached = self.authenticator.cached_user(scope)
        try:
            found = await self.authenticator(scope)
        except errors.Unauthorized:
            assert cached is None
            return None
        assert cached in {None, found}
        assert self.authenticator.cached_user(scope) == found  # the second request is answered from the cache
        return found


@pytest.fixture
async def known() -> AsyncIterator[Tenants]:
    store = await open_memory()
    yield Tenants(store)
    await store.close()


ADMIN = User("111111-admin", ("staff", "system:authenticated"), tenant="111111")
OF_TENANT = Subject("111111-admin", ("staff",), unit="111111", uri="tenant:one")


class TestCertificates:
    """Client certificates."""

    def test_unit_name_and_uri_of_one_tenant_claim_it(self, tmp_path: Path) -> None:
        found = identity_of(OF_TENANT, tmp_path)
        assert found is not None
        assert (found.user, found.claim) == (ADMIN, TenantClaim(("111111",), "one"))
        assert found.not_after == NOW + 3600

    @pytest.mark.parametrize(
        "subject",
        [
            pytest.param(Subject("111111-admin", unit="111111"), id="no uri"),
            pytest.param(Subject("111111-admin", unit="111111", uri="tenant:"), id="no uid"),
            pytest.param(Subject("111111-admin", unit="111111", uri="https://one"), id="another uri"),
            pytest.param(Subject("111111-admin", uri="tenant:one"), id="no unit"),
            pytest.param(Subject("111111-admin", unit="222222", uri="tenant:one"), id="the unit of another tenant"),
            pytest.param(Subject("admin", unit="111111", uri="tenant:one"), id="a name without prefix"),
            pytest.param(Subject("111111-", unit="111111", uri="tenant:one"), id="an empty name"),
            pytest.param(Subject("1111112admin", unit="111111", uri="tenant:one"), id="a name without dash"),
            pytest.param(Subject("admin", unit="Sales", uri="tenant:one"), id="a unit that no tenant can have"),
        ],
    )
    def test_certificate_whose_parts_do_not_match_is_nobodys(self, subject: Subject, tmp_path: Path) -> None:
        assert identity_of(subject, tmp_path) is None

    def test_name_alone_makes_no_user_of_a_tenant(self, tmp_path: Path) -> None:
        for subject in (Subject("111111-admin"), Subject("111111-admin", unit="Sales")):
            found = identity_of(subject, tmp_path)
            assert found is not None
            assert (found.user.name, found.user.tenant, found.claim) == ("111111-admin", "", None)

    def test_users_of_tenants_are_never_masters(self, tmp_path: Path) -> None:
        found = identity_of(OF_TENANT._replace(groups=("system:masters", "staff")), tmp_path)
        assert found is not None
        assert not found.user.is_superuser
        assert found.user.groups == ("staff", "system:authenticated")

    async def test_certificate_is_valid_while_its_tenant_exists(self, known: Tenants, tmp_path: Path) -> None:
        peer = identity_of(OF_TENANT, tmp_path)
        assert await known.user(peer) is None
        await known.create("111111", "one")
        assert await known.user(peer) == ADMIN
        await known.create("111111", "one", deletionTimestamp="2026-01-01T00:00:00Z")
        assert await known.user(peer) == ADMIN
        await known.remove(tenants.tenant_key("111111"), tenants.open_entry("111111"))
        assert await known.user(peer) is None

    async def test_tenant_of_the_same_id_does_not_accept_old_certificates(self, known: Tenants, tmp_path: Path) -> None:
        peer = identity_of(OF_TENANT, tmp_path)
        await known.create("111111", "one")
        assert await known.user(peer) == ADMIN
        await known.remove(tenants.tenant_key("111111"), tenants.open_entry("111111"))
        await known.create("111111", "two")
        assert await known.user(peer) is None

    async def test_refused_certificate_is_not_replaced_by_a_token(self, known: Tenants, tmp_path: Path) -> None:
        token = await known.create_account("a")
        assert await known.user(identity_of(OF_TENANT, tmp_path), token) is None

    async def test_unit_that_a_tenant_could_have_is_no_tenant_until_there_is_one(self, known: Tenants, tmp_path: Path) -> None:
        peer = identity_of(Subject("ann", unit="london"), tmp_path)
        assert await known.user(peer) == User("ann", ("system:authenticated",))
        await known.create("london", "one")
        assert await known.user(peer) is None


class TestTokens:
    """Service account tokens."""

    async def test_account_in_a_namespace_of_a_tenant_is_the_tenants(self, known: Tenants) -> None:
        await known.create("111111", "one")
        user = await known.user(token=await known.create_account("111111-web", owner="111111"))
        assert user is not None
        assert (user.name, user.tenant) == ("system:serviceaccount:111111-web:robot", "111111")

    @pytest.mark.parametrize("owner", ["", "harbor"])
    async def test_account_in_a_namespace_that_only_looks_like_a_tenants_is_the_platforms(self, known: Tenants, owner: str) -> None:
        token = await known.create_account("harbor-system", owner=owner)
        user = await known.user(token=token)
        assert user is not None
        assert user.tenant == ""

    async def test_namespace_without_entry_is_the_platforms_even_if_there_is_a_tenant(self, known: Tenants) -> None:
        token = await known.create_account("111111-web")
        await known.create("111111", "one")
        user = await known.user(token=token)
        assert user is not None
        assert user.tenant == ""

    async def test_change_of_the_tenants_counts_at_once(self, known: Tenants) -> None:
        token = await known.create_account("111111-web", owner="111111")
        for exists in (False, True, False):
            if exists:
                await known.create("111111", "one")
            elif await known.store.read(tenants.tenant_key("111111")) is not None:
                await known.remove(tenants.tenant_key("111111"), tenants.open_entry("111111"))
            user = await known.user(token=token)
            assert user is not None
            assert user.tenant == ("111111" if exists else "")


class TestView:
    """How a tenant names its users."""

    def test_certificate(self) -> None:
        assert identity.in_tenant_view(ADMIN) == User("admin", ADMIN.groups, tenant="111111")

    def test_prefix_is_removed_once(self) -> None:
        assert identity.in_tenant_view(ADMIN._replace(name="111111-111111-x")).name == "111111-x"

    def test_service_account(self) -> None:
        groups = ("system:serviceaccounts", "system:serviceaccounts:111111-web", "system:authenticated")
        account = User("system:serviceaccount:111111-web:robot", groups, "u", (("k", ("v",)),), "111111")
        shown = ("system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated")
        assert identity.in_tenant_view(account) == User("system:serviceaccount:web:robot", shown, "u", (("k", ("v",)),), "111111")

    def test_masters(self) -> None:
        assert not identity.in_tenant_view(User("111111-a", ("system:masters",), tenant="111111")).is_superuser

    async def test_token_reviews_know_the_tenants_own_tokens_only(self) -> None:
        async def authenticate(token: str, _: tuple[str, ...]) -> AuthenticatedToken:
            return AuthenticatedToken(User(f"{token}-admin", tenant=token))

        in_view = identity.authenticate_in_view(authenticate, "111111")
        assert (await in_view("111111", ())).user.name == "admin"
        for other in ("222222", ""):
            with pytest.raises(errors.Unauthorized):
                await in_view(other, ())
