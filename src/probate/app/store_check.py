"""Checks the store at an address, whichever engine it is of: what `probate store check` does."""

from __future__ import annotations

import asyncio
from pathlib import Path

from probate.cli.context import DamagedRow, StoreCheck
from probate.core import errors
from probate.core.clock import SystemClock
from probate.store.check_report import Report
from probate.store.contract import Damaged
from probate.store.damage import name_of


def check(address: str) -> StoreCheck:
    """Read all of the store. `CannotOpen` if there is none, or it cannot be read."""
    report = _report(address)
    rows = [_row(one) for one in report.damaged]
    rows += [_row(one, "an earlier version: ") for one in report.damaged_history]
    return StoreCheck(report.objects, report.history, rows, list(report.problems), list(report.notes))


def _report(address: str) -> Report:
    kind, _, rest = address.partition(":")
    if kind == "sqlite" and rest:
        from probate.store.sqlite.store_check import check_file  # noqa: PLC0415

        return check_file(Path(rest))
    if kind == "etcd" and rest:
        from probate.store.etcd.rpc.address import parse  # noqa: PLC0415
        from probate.store.etcd.store_check import check_etcd  # noqa: PLC0415

        return asyncio.run(check_etcd(parse(address), SystemClock()))
    raise errors.CannotOpen(f"{address!r} is not a store that can be checked. Give sqlite:FILE or etcd://HOST:PORT,HOST:PORT")


def _row(one: Damaged, what: str = "") -> DamagedRow:
    about = name_of(one.key)
    resource = f"{about.resource}.{about.group}" if about.group else about.resource
    return DamagedRow(resource, about.namespace or "-", about.name, one.revision, what + one.problem)
