"""The revision at which a list is read: resourceVersion, resourceVersionMatch and the continue token.

A continue token holds the revision of its list and the key after which the next page begins, so that all pages show one revision.
It also holds the number of objects after that key, if it is known, so that they are counted once for all pages. When the revision
of a token has been compacted, the client gets a token without a revision: the list continues after the same key with the current
objects.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

import msgspec

from probate.api.field_errors import FieldError
from probate.core import errors
from probate.core.errors import Details
from probate.server.query import ListOptions
from probate.store.contract import Revision, Store


class ListStart(NamedTuple):
    """Where a list begins.

    `at` is None for the current revision. `following` is the number of objects after `after`; 0: unknown.
    """

    at: Revision | None
    after: str
    following: int = 0


START_NOW = ListStart(None, "")


class _Token(msgspec.Struct, omit_defaults=True):
    rv: int
    start: str
    following: int = 0


_ANY_REVISION = Revision(-1)
"""The revision in a token that continues with the current objects."""
_EXPIRED_MESSAGE = (
    "The provided continue parameter is too old to display a consistent list result. Start the list again, or continue with the "
    "token in this response: it leads to the current objects, so changes since the first page may show."
)


def parse_resource_version(text: str) -> Revision:
    """Parses a resourceVersion. Raises `BadRequest` if it is not one."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise errors.BadRequest(f"{text!r} is not a resourceVersion: use one that the server returned, or none")
    return Revision(int(text))


def continue_token(at: Revision, key: str, prefix: str, *, following: int | None = None) -> str:
    """Returns the token of the page after this key, which `following` objects follow."""
    body = msgspec.json.encode(_Token(at, key.removeprefix(prefix), following or 0))
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


async def resolve_start(store: Store, options: ListOptions, prefix: str) -> ListStart:
    """Returns where the requested list begins. Raises `FutureRevision` if the store has not reached its resourceVersion."""
    if options.continue_:
        return _resume(options, prefix)
    if options.resource_version in {"", "0"}:
        return START_NOW
    is_exact = options.resource_version_match == "Exact" or (options.limit > 0 and not options.resource_version_match)
    requested = await require_reached(store, options.resource_version)
    return ListStart(requested if is_exact else None, "")


async def require_reached(store: Store, text: str) -> Revision:
    """Parses a resourceVersion. Raises `FutureRevision` if the store has not reached it."""
    requested, current = parse_resource_version(text), await store.revision()
    if requested > current:
        raise resource_version_too_large(requested, current)
    return requested


def expired_token(begin: ListStart, prefix: str) -> errors.Gone:
    """Returns the error for a token whose revision is compacted. It carries a token that continues with the current objects."""
    return errors.Gone(_EXPIRED_MESSAGE, continue_=continue_token(_ANY_REVISION, begin.after, prefix))


def resource_version_too_large(requested: Revision, current: Revision) -> errors.FutureRevision:
    """Returns the error for a resourceVersion that is newer than the store."""
    cause = FieldError("ResourceVersionTooLarge", "", "Too large resource version")
    return errors.FutureRevision(
        f"Too large resource version: {requested}, current: {current}", Details(causes=(cause,), retry_after_seconds=1)
    )


def _resume(options: ListOptions, prefix: str) -> ListStart:
    if options.resource_version not in {"", "0"}:
        raise errors.BadRequest("specifying resource version is not allowed when using continue")
    text = options.continue_
    try:
        decoded = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise errors.BadRequest("the continue parameter is not a token of this server: start the list again") from None
    if not (0 < decoded.rv < 2**63 or decoded.rv == _ANY_REVISION) or not 0 <= decoded.following < 2**63:
        raise errors.BadRequest("the continue parameter is not a token of this server: start the list again")
    if decoded.rv == _ANY_REVISION:
        return ListStart(None, prefix + decoded.start)
    return ListStart(Revision(decoded.rv), prefix + decoded.start, decoded.following)
