"""What expressions ask about rights, and what they are told. (The language itself is `lib/cel`.)"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Attributes(NamedTuple):
    """What somebody would do."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # for what is no resource
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None  # namespace and name of who is asked about, if not the one who asks


class Verdict(NamedTuple):
    """Whether it is allowed, and why or why not. `error` if that could not be found out."""

    is_allowed: bool
    reason: str = ""
    error: str = ""


class Decider(Protocol):
    """Says who may do what."""

    def decide(self, attributes: Attributes) -> Verdict:
        """Whether the one who makes the request may do this. It must not block."""
        ...


class AllowAll:
    """Where nobody is configured to decide."""

    def decide(self, _: Attributes) -> Verdict:
        return Verdict(is_allowed=True)
