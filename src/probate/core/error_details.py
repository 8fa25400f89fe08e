"""What an error says about its object and fields, besides its message."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Cause(Protocol):
    """One invalid field and the reason. (`api.field_errors` creates them.)"""

    @property
    def reason(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def message(self) -> str: ...


class Details(NamedTuple):
    """The object that a failure is about, as far as it is known. `kind` is a kind or a plural name, since Kubernetes uses both."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0
