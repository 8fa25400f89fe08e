"""What CEL expressions ask the authorizer, and its decisions. (`lib/cel` implements the language itself.)"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Attributes(NamedTuple):
    """The attributes of an authorization check."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # of a non-resource request
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None  # namespace and name, if the check is not about the requesting user


class AuthorizationDecision(NamedTuple):
    """Whether the request is allowed, and the reason. `error` is set if the authorizer could not decide."""

    is_allowed: bool
    reason: str = ""
    error: str = ""


class CelAuthorizer(Protocol):
    """Decides authorization checks of expressions."""

    def decide(self, attributes: Attributes) -> AuthorizationDecision:
        """Returns whether the requesting user may do this. Must not block."""
        ...
