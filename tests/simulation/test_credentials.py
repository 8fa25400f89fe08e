"""Simulated credentials: no expired token is accepted and no valid one refused, whatever is evicted or reloaded meanwhile.

Each deliberate defect of the server must be found within a number of seeds.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.oidc_tokens import OidcTokenAuthenticator
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.token_file import TokenFile
from probate.server.authn.verified_tokens import TokenCache, VerifiedToken
from simulation.credentials import ACCEPTED, CredentialRun

SEEDS = 10
KINDS = ("file", "account", "issuer")


@functools.cache
def result_of(seed: int) -> tuple[str, dict[tuple[str, int], int]]:
    run = CredentialRun(seed)
    return run.play(), run.answers


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_expired_token_is_accepted_and_no_valid_one_refused(seed: int) -> None:
    assert result_of(seed)[0] == ""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_same_holds_while_the_keys_of_the_issuer_are_refreshed(seed: int) -> None:
    assert CredentialRun(seed, refreshes=True).play() == ""


def test_tokens_of_all_kinds_are_accepted_and_refused_in_the_runs() -> None:
    answers = [answer for seed in range(SEEDS) for answer in result_of(seed)[1]]
    assert {(kind, code) for kind in KINDS for code in (ACCEPTED, 401)} <= {*answers}


def first_failure() -> str:
    """Returns the first failure."""
    failures = (CredentialRun(seed).play() for seed in range(3 * SEEDS))
    return next((failure for failure in failures if failure), "nothing was found")


def test_token_that_is_looked_up_in_its_cache_again_after_an_await(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that was evicted meanwhile was cached as a token of the file."""
    remember = RequestAuthenticator._remember

    def careless(self: RequestAuthenticator, header: bytes, verified: VerifiedToken) -> None:
        listed, one = self._authenticators[0], verified.authenticator
        cache = getattr(one, "_cache", None)
        assert isinstance(listed, TokenFile)
        if isinstance(cache, TokenCache) and verified not in cache._tokens.values():
            verified = VerifiedToken(listed, verified.user, listed._generation)
        remember(self, header, verified)

    monkeypatch.setattr(RequestAuthenticator, "_remember", careless)
    assert "was accepted" in first_failure()


def test_token_file_whose_reload_evicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenFile, "is_current", lambda *_: True)
    assert "kind file was accepted" in first_failure()


def test_withdrawn_keys_of_an_issuer_that_are_still_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(_: OidcTokenAuthenticator, verified: VerifiedToken, now: float) -> bool:
        return verified.not_before <= now < verified.expires

    monkeypatch.setattr(OidcTokenAuthenticator, "is_current", careless)
    assert "kind issuer was accepted" in first_failure()


def test_expiration_that_is_checked_only_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    timely: Any = lambda *_: True  # noqa: E731
    monkeypatch.setattr(TokenIssuer, "is_valid_now", timely)
    assert "kind account was accepted" in first_failure()
