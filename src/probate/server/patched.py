"""An object that was patched or applied to, read as its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from probate import errors
from probate.errors import Details
from probate.machinery import problems
from probate.machinery.problems import Path
from probate.server import reading
from probate.server.api import Api
from probate.server.request import Target


def typed(api: Api, patched: Any, at: Target, field_validation: str, odd: Sequence[str] = ()) -> reading.Read:
    """The patched object; what does not fit its types is the patch's fault, not the body's. `odd` is what else is told of that."""
    try:
        if not isinstance(patched, dict):
            raise errors.BadRequest("the patch makes the object something else than an object")  # noqa: TRY301
        return reading.patched_object(patched, at.resource, api.kinds.rules(at.resource), field_validation, odd)
    except errors.BadRequest as error:
        if str(error).startswith("strict"):
            raise
        cause = problems.invalid(Path("patch"), "", str(error))
        details = Details(name=at.name, group=at.resource.group, kind=at.resource.plural, causes=(cause,))
        raise errors.Invalid(f"the patch does not fit the object: {error}", details) from None
