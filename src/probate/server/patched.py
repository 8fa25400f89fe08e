"""An object that was patched or applied to, read as its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from probate import errors
from probate.errors import Details
from probate.machinery import problems, status
from probate.machinery.problems import Path
from probate.server import reading
from probate.server.api import Api
from probate.server.request import Target


def typed(api: Api, patched: Any, at: Target, field_validation: str, odd: Sequence[str] = ()) -> reading.Read:
    """The patched object. `odd` is what else is told of what does not fit its kind."""
    with blamed():
        if not isinstance(patched, dict):
            raise errors.BadRequest("the patch makes the object something else than an object")
        return reading.patched_object(patched, at.resource, api.kinds.rules(at.resource), field_validation, odd)


@contextmanager
def blamed() -> Iterator[None]:
    """What cannot be read in here is the patch's fault, not the body's: `Invalid`. (What it was made of is not quoted.)"""
    try:
        yield
    except errors.BadRequest as error:
        cause = problems.invalid(Path("patch"), "", str(error))
        raise errors.Invalid(status.describe("", "", "", [cause]), Details(causes=(cause,))) from None
