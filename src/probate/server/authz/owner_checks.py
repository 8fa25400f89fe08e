"""Which references to owners one has to have rights for: none, those that hold the owner, or all."""

from __future__ import annotations

from enum import Enum


class Owners(Enum):
    """By the names that the setting has."""

    NONE = "none"
    BLOCKING = "blocking"
    ALL = "all"
