"""Checks the store at an address, with the engine that the address selects: the work of `probate store check`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from probate.cli.context import DamagedRow, StoreCheck
from probate.core import errors
from probate.core.clock import SystemClock
from probate.store.check_report import CheckReport
from probate.store.contract import DamagedRecord
from probate.store.damaged_objects import object_name


def check(address: str) -> StoreCheck:
    """Reads the whole store. Raises `CannotOpen` if it does not exist or cannot be read."""
    report = _report(address)
    rows = [_row(damaged) for damaged in report.damaged]
    rows += [_row(damaged, "an earlier version: ") for damaged in report.damaged_history]
    return StoreCheck(report.objects, report.history, rows, list(report.problems), list(report.notes))


def _report(address: str) -> CheckReport:
    kind, _, rest = address.partition(":")
    if kind == "sqlite" and rest:
        from probate.store.sqlite.integrity.store_check import check_file  # noqa: PLC0415

        return check_file(Path(rest))
    if kind == "etcd" and rest:
        from probate.store.etcd.rpc.address import parse  # noqa: PLC0415
        from probate.store.etcd.store_check import check_etcd  # noqa: PLC0415

        return asyncio.run(check_etcd(parse(address), SystemClock()))
    raise errors.CannotOpen(f"{address!r} is not a store that can be checked. Give sqlite:FILE or etcd://HOST:PORT,HOST:PORT")


def _row(damaged: DamagedRecord, prefix: str = "") -> DamagedRow:
    name = object_name(damaged.key)
    resource = f"{name.resource}.{name.group}" if name.group else name.resource
    return DamagedRow(resource, name.namespace or "-", name.name, damaged.revision, prefix + damaged.problem)
