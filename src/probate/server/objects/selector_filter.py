"""SelectorFilter: the label and field selectors of a list or watch, compiled once and matched against stored bytes.

Selectors for labels, names and namespaces decode the metadata only; a selector for any other field decodes the whole object. The
stored version may differ from the requested one, which can have other fields and, after conversion, other labels. In that case the
selectors are matched against the requested version (`needs_served_version`), so an object that cannot be converted neither matches
nor is skipped. Names are the same in all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson

from probate.api.catalog import Resource
from probate.api.selectors import field_selectors, label_selectors
from probate.api.selectors.field_selectors import FieldSelector
from probate.api.selectors.label_selectors import LabelSelector
from probate.api.selectors.selectable_fields import SelectableField
from probate.core.aio.large_work import Offloader
from probate.server.codec import object_codec, version_conversion
from probate.server.kind_rules.contract import KindRules
from probate.server.query import ListOptions
from probate.server.request import Target
from probate.server.storage import storage_keys

MAX_INLINE_CHARACTERS = 500
"""Selectors up to this length are parsed on the event loop, which takes about 0.1 ms. Longer ones are parsed on a thread."""


class SelectorFilter(NamedTuple):
    """Matches stored objects against the selectors of a request."""

    is_everything: bool
    matches: Callable[[bytes], bool]
    text: tuple[str, ...] = ()  # the selectors' text: filters with equal text are equal
    needs_served_version: bool = False  # `matches` takes the served version (`VersionConverter.served`), not the stored one
    name: str = ""  # if not empty, only objects of this name match

    def seek(self, after: str) -> str:
        """Returns the key to continue a scan after, given the last key read. Fast path: skips what cannot match by its name."""
        return storage_keys.seek_name(after, self.name) if self.name else after


EVERYTHING = SelectorFilter(is_everything=True, matches=lambda _: True)


async def parse_filter(target: Target, options: ListOptions, *, rules: KindRules, offloader: Offloader) -> SelectorFilter:
    """Returns the filter of a request. Raises `BadRequest` if a selector is invalid. Parses long selectors on a thread."""
    fields = rules.selectable_fields()
    if len(options.label_selector) + len(options.field_selector) <= MAX_INLINE_CHARACTERS:
        return build_filter(target, options, fields)
    return await offloader.run_in_thread(lambda: build_filter(target, options, fields))


def build_filter(target: Target, options: ListOptions, known: Mapping[str, SelectableField]) -> SelectorFilter:
    """Returns the filter of a request. Raises `BadRequest` if a selector is invalid."""
    labels = label_selectors.parse(options.label_selector)
    fields = field_selectors.parse(options.field_selector, known)
    if target.name:  # deprecated watch path of a single object
        return SelectorFilter(
            is_everything=False,
            matches=lambda value: object_codec.meta(value).name == target.name,
            text=(target.name,),
            name=target.name,
        )
    if labels.is_everything and fields.is_everything:
        return EVERYTHING

    name = fields.exact_name() or ""
    quoted_name = orjson.dumps(name) if name else b""

    def matches(value: bytes) -> bool:
        if quoted_name not in value:  # fast path: the values of most objects do not contain the name anywhere
            return False
        if not labels.is_everything and not labels.matches(object_codec.meta(value).labels):
            return False
        return fields.is_everything or fields.matches(orjson.loads(value))

    text = (options.label_selector, options.field_selector)
    return SelectorFilter(
        is_everything=False,
        matches=matches,
        text=text,
        needs_served_version=_needs_served_version(target.resource, labels, fields),
        name=name,
    )


def _needs_served_version(resource: Resource, labels: LabelSelector, fields: FieldSelector) -> bool:
    """Whether the selectors must be matched against the served version."""
    if not labels.is_everything and resource.is_converted:
        return True
    return not fields.needs_metadata_only and version_conversion.may_differ(resource)
