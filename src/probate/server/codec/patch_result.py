"""Decodes the result of a patch or apply as an object of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from probate.api import field_errors, status
from probate.api.field_errors import FieldPath
from probate.core import errors
from probate.core.errors import Details
from probate.server.codec import request_body
from probate.server.kind_rules.contract import KindRules
from probate.server.request import Target


def typed(rules: KindRules, patched: Any, at: Target, *, field_validation: str, odd: Sequence[str] = ()) -> request_body.Read:
    """Returns the patched object, decoded by the rules of its kind. `odd` contains earlier findings that are reported first."""
    with blamed():
        if not isinstance(patched, dict):
            raise errors.BadRequest("the result of the patch is not an object")
        return request_body.patched_object(patched, at.resource, rules, field_validation=field_validation, odd=odd)


@contextmanager
def blamed() -> Iterator[None]:
    """Converts `BadRequest` to `Invalid`: the patch caused the decoding error, not the body. The message does not quote content."""
    try:
        yield
    except errors.BadRequest as error:
        cause = field_errors.invalid(FieldPath("patch"), "", str(error))
        raise errors.Invalid(status.invalid_message("", "", "", field_errors=[cause]), Details(causes=(cause,))) from None
