"""Credentials under simulation: no token outlives its end, no good one is refused, whatever is evicted or reloaded meanwhile.

Broken on purpose, the server must be found out within so many seeds.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from probate.server.authn.authenticator import Recognition
from probate.server.authn.oidc_tokens import OidcTokens
from probate.server.authn.service_accounts import Accounts
from probate.server.authn.token_file import Listed
from probate.server.authn.verified_tokens import TokenCache, VerifiedToken
from simulation.credentials import ACCEPTED, CredentialRun

SEEDS = 10
KINDS = ("file", "account", "issuer")


@functools.cache
def played(seed: int) -> tuple[str, dict[tuple[str, int], int]]:
    run = CredentialRun(seed)
    return run.play(), run.answers


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_token_outlives_its_end_and_no_good_one_is_refused(seed: int) -> None:
    assert played(seed)[0] == ""


def test_tokens_of_all_kinds_are_accepted_and_refused_in_the_runs() -> None:
    answers = [answer for seed in range(SEEDS) for answer in played(seed)[1]]
    assert {(kind, code) for kind in KINDS for code in (ACCEPTED, 401)} <= {*answers}


def found() -> str:
    """The first failure."""
    failures = (CredentialRun(seed).play() for seed in range(3 * SEEDS))
    return next((failure for failure in failures if failure), "nothing was found")


def test_token_that_is_looked_up_in_its_cache_again_after_an_await(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not found there any more was remembered as a token of the file."""
    remember = Recognition._remember

    def careless(self: Recognition, header: bytes, verified: VerifiedToken) -> None:
        listed, one = self._authenticators[0], verified.authenticator
        cache = getattr(one, "_cache", None)
        assert isinstance(listed, Listed)
        if isinstance(cache, TokenCache) and verified not in cache._found.values():
            verified = VerifiedToken(listed, verified.user, listed._generation)
        remember(self, header, verified)

    monkeypatch.setattr(Recognition, "_remember", careless)
    assert "was accepted" in found()


def test_file_of_tokens_that_is_read_again_and_forgotten_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Listed, "is_current", lambda *_: True)
    assert "kind file was accepted" in found()


def test_keys_of_an_issuer_that_were_withdrawn_and_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(_: OidcTokens, verified: VerifiedToken, now: float) -> bool:
        return verified.begins <= now < verified.ends

    monkeypatch.setattr(OidcTokens, "is_current", careless)
    assert "kind issuer was accepted" in found()


def test_time_of_a_token_that_is_checked_only_when_it_is_first_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    timely: Any = lambda *_: True  # noqa: E731
    monkeypatch.setattr(Accounts, "is_timely", timely)
    assert "kind account was accepted" in found()
