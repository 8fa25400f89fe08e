"""The setting that says which references to owners take rights: none, those that block the owner, or all."""

from __future__ import annotations

from enum import Enum


class OwnerChecks(Enum):
    """The values of the setting."""

    NONE = "none"
    BLOCKING = "blocking"
    ALL = "all"
