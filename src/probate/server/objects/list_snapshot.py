"""Which moment a list shows: resourceVersion, resourceVersionMatch and the continue token.

A token names the revision of its list and the key after which the next page begins, so that all pages show one moment. It also
carries how many objects follow that key, as far as that is known: so they are counted once for all pages. A token that was given
because the revision of another was compacted names none: the list goes on after the same key with what is there now.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

import msgspec

from probate.api.field_errors import Problem
from probate.core import errors
from probate.core.errors import Details
from probate.server.query import ListOptions
from probate.store.contract import Revision, Store


class Start(NamedTuple):
    """Where a list begins. `at` is None for now. `following` is how many objects there are from here on, 0 if that is unknown."""

    at: Revision | None
    after: str
    following: int = 0


NOW = Start(None, "")


class _Token(msgspec.Struct, omit_defaults=True):
    rv: int
    start: str
    following: int = 0


_WHENEVER = Revision(-1)
"""The revision in a token that goes on with whatever there is by then."""
_OVER = (
    "The provided continue parameter is too old to display a consistent list result. Begin the list anew, or go on with the "
    "continue token in this answer: it leads to what there is now, so changes since the first page may show."
)


def revision(text: str) -> Revision:
    """The revision in a resourceVersion; `BadRequest` if it is none."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise errors.BadRequest(f"{text!r} is no resourceVersion: give one that the server gave, or none")
    return Revision(int(text))


def token(at: Revision, key: str, prefix: str, following: int | None = None) -> str:
    """A token for the page after this key, which is followed by so many objects."""
    body = msgspec.json.encode(_Token(at, key.removeprefix(prefix), following or 0))
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


async def start(store: Store, options: ListOptions, prefix: str) -> Start:
    """Where the list that was asked for begins. `FutureRevision` if the store has not got there."""
    if options.continue_:
        return _resume(options, prefix)
    if options.resource_version in {"", "0"}:
        return NOW
    is_exact = options.resource_version_match == "Exact" or (options.limit > 0 and not options.resource_version_match)
    wanted = await reached(store, options.resource_version)
    return Start(wanted if is_exact else None, "")


async def reached(store: Store, text: str) -> Revision:
    """The revision in a resourceVersion. `FutureRevision` if the store has not got there."""
    wanted, current = revision(text), await store.revision()
    if wanted > current:
        raise too_large(wanted, current)
    return wanted


def over(begun: Start, prefix: str) -> errors.Gone:
    """The list that a token belongs to is gone. What follows its key is not: who likes may go on there."""
    return errors.Gone(_OVER, continue_=token(_WHENEVER, begun.after, prefix))


def too_large(wanted: Revision, current: Revision) -> errors.FutureRevision:
    """The client has seen more than this store has."""
    cause = Problem("ResourceVersionTooLarge", "", "Too large resource version")
    return errors.FutureRevision(
        f"Too large resource version: {wanted}, current: {current}", Details(causes=(cause,), retry_after_seconds=1)
    )


def _resume(options: ListOptions, prefix: str) -> Start:
    if options.resource_version not in {"", "0"}:
        raise errors.BadRequest("specifying resource version is not allowed when using continue")
    text = options.continue_
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise errors.BadRequest("the continue parameter is not one that this server gave: begin the list anew") from None
    if not (0 < found.rv < 2**63 or found.rv == _WHENEVER) or not 0 <= found.following < 2**63:
        raise errors.BadRequest("the continue parameter is not one that this server gave: begin the list anew")
    if found.rv == _WHENEVER:
        return Start(None, prefix + found.start)
    return Start(Revision(found.rv), prefix + found.start, found.following)
