"""Which objects a list or watch shows: its selectors, compiled once and asked of stored bytes.

Labels, names and namespaces are read from the metadata alone; only a selector for other fields parses the whole object. What is
stored may be another version than the one that was asked for, which has other fields and may have other labels: then the selectors
are asked of that one, so an object that cannot be shown in it is neither taken nor passed over (`asks_shown`). Names are the same
in all versions.
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
from probate.server.codec import object_codec, version_conversion
from probate.server.context import Api
from probate.server.query import ListOptions
from probate.server.request import Target

SHORT = 500
"""Characters of selectors that are read on the loop: a tenth of a millisecond or so."""


class Filter(NamedTuple):
    """What is wanted."""

    is_everything: bool
    matches: Callable[[bytes], bool]
    text: tuple[str, ...] = ()  # how it was written: two of the same text are the same
    asks_shown: bool = False  # of objects as `versions.served` has them, not as they are stored


EVERYTHING = Filter(is_everything=True, matches=lambda _: True)


async def read(api: Api, at: Target, options: ListOptions) -> Filter:
    """The filter of this request; `BadRequest` if a selector makes no sense. Long ones are read on a thread."""
    fields = api.kinds.rules(at.resource).fields()
    if len(options.label_selector) + len(options.field_selector) <= SHORT:
        return of(at, options, fields)
    return await api.elsewhere(lambda: of(at, options, fields))


def of(at: Target, options: ListOptions, known: Mapping[str, SelectableField]) -> Filter:
    """The filter of this request; `BadRequest` if a selector makes no sense."""
    labels = label_selectors.parse(options.label_selector)
    fields = field_selectors.parse(options.field_selector, known)
    if at.name:  # the old way to watch one object names it in the path
        return Filter(is_everything=False, matches=lambda value: object_codec.meta(value).name == at.name, text=(at.name,))
    if labels.is_everything and fields.is_everything:
        return EVERYTHING

    def matches(value: bytes) -> bool:
        if not labels.is_everything and not labels.matches(object_codec.meta(value).labels):
            return False
        return fields.is_everything or fields.matches(orjson.loads(value))

    text = (options.label_selector, options.field_selector)
    return Filter(is_everything=False, matches=matches, text=text, asks_shown=_asks_shown(at.resource, labels, fields))


def _asks_shown(resource: Resource, labels: LabelSelector, fields: FieldSelector) -> bool:
    """Whether these have to be asked of objects as they are shown."""
    if not labels.is_everything and resource.is_converted:
        return True
    return not fields.needs_metadata_only and version_conversion.may_differ(resource)
