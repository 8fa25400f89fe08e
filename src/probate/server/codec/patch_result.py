"""An object that was patched or applied to, read as its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from probate.api import field_errors, status
from probate.api.field_errors import Path
from probate.core import errors
from probate.core.errors import Details
from probate.server.codec import request_body
from probate.server.context import Api
from probate.server.request import Target


def typed(api: Api, patched: Any, at: Target, field_validation: str, odd: Sequence[str] = ()) -> request_body.Read:
    """The patched object. `odd` is what else is told of what does not fit its kind."""
    with blamed():
        if not isinstance(patched, dict):
            raise errors.BadRequest("the patch makes the object something else than an object")
        return request_body.patched_object(patched, at.resource, api.kinds.rules(at.resource), field_validation, odd)


@contextmanager
def blamed() -> Iterator[None]:
    """What cannot be read in here is the patch's fault, not the body's: `Invalid`. (What it was made of is not quoted.)"""
    try:
        yield
    except errors.BadRequest as error:
        cause = field_errors.invalid(Path("patch"), "", str(error))
        raise errors.Invalid(status.describe("", "", "", [cause]), Details(causes=(cause,))) from None
