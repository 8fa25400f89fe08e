"""Who asks: what admission, and whoever checks rights, is told about the author of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


class User(NamedTuple):
    """A user, as AdmissionReviews and SubjectAccessReviews spell one."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    @property
    def info(self) -> dict[str, Any]:
        """The user as `userInfo`; what is empty is left out."""
        extra = {name: list(values) for name, values in self.extra.items()}
        found = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in found.items() if value}


UNSECURED = User("system:unsecured", groups=(MASTERS, AUTHENTICATED))
"""Whoever asks a server that asks nobody who they are."""
INTERNAL = User("system:probate", groups=(MASTERS, AUTHENTICATED))
"""The controllers of our own process."""
