"""The state of one evaluation: its variables and its meter."""

from __future__ import annotations

from typing import Any

from probate.lib.cel.cost_meter import Meter


class Run:
    """The state of an evaluation, passed to every compiled function."""

    __slots__ = ("meter", "slots")

    def __init__(self, slots: list[Any], meter: Meter) -> None:
        self.slots = slots
        self.meter = meter
