"""Iterates over whole ranges page by page, on any engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from probate.store import keys
from probate.store.contract import Page, Revision, Store


async def pages(store: Store, prefix: str, *, size: int = 500, at: Revision | None = None) -> AsyncGenerator[Page, None]:
    """Yields all pages of a range. Pages of objects share one revision; each page of index entries is as of its own revision."""
    after = ""
    while True:
        page = await store.scan(prefix, after=after, limit=size, at=at)
        yield page
        if not page.has_more:
            return
        after = page.last_key
        if keys.is_object(prefix):
            at = page.revision
