"""Describes a built-in kind: one `Kind` row per kind, in the `registration` module of its API group.

    Kind(
        group="apps",
        name="Deployment",
        plural="deployments",
        defaults=lambda: defaults.default_deployment,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(create=validation.check_deployment, update=validation.update_by_selector),
        columns=lambda: columns.PRINTERS["apps", "deployments"],
    )

Each part is a function that returns it, so that its module loads when the part is first used: a process that serves ConfigMaps does
not load the validation of Pods. `None` means that the kind has no rules of that sort beyond its schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.printers.columns import Printer
from probate.kinds.shared.field_checks import Problems, Value

USER_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
"""The metadata that some kinds keep unchanged in a write through the status subresource."""


class Strategy(NamedTuple):
    """What a create, an update and a status update do to an object, after its defaults are set and before it is validated."""

    has_status: bool = False
    """The kind has a status subresource: a create drops the status, an update keeps the old one."""
    status_on_create: bool = False
    """A create keeps the status although the kind has a status subresource: a kubelet registers its Node with its status."""
    generation_fields: tuple[str, ...] | None = None
    """The fields whose change increments `metadata.generation`; None if the kind does not have a generation."""
    generation_metadata: str = ""
    """The part of the metadata whose change also increments the generation."""
    first_generation: bool = True
    """A new object has generation 1. If False, it has no generation before its first change."""
    create: Callable[[Object], None] | None = None
    create_at: Callable[..., None] | None = None
    """The same as `create`, with the keyword argument `now`, an RFC 3339 time in seconds."""
    create_named: Callable[..., None] | None = None
    """The same as `create`, with the keyword argument `uid`, the UID that the object will have."""
    update: Callable[[Object, Object], None] | None = None
    update_status: Callable[[Object, Object], None] | None = None
    update_status_at: Callable[..., None] | None = None
    """The same as `update_status`, with the keyword argument `now`."""
    metadata_kept_on_status: tuple[str, ...] = ()


class Validation(NamedTuple):
    """The checks of a kind beyond its schema. Each yields problems."""

    create: Callable[[Value], Problems]
    update: Callable[[Value, Value], Problems] | None = None
    """Checks which fields changed although they are immutable."""
    new_on_update: Callable[[Value], Problems] | None = None
    """The checks of the new object alone in an update, if they are fewer than those of a create. None: the same as `create`."""
    status: Callable[[Value, Value], Problems] | None = None
    subresources: Mapping[str, Callable[[Object, Object], Problems]] = MappingProxyType({})


class Warnings(NamedTuple):
    """The warnings about fields that are allowed but questionable. A kind without `update` has no warnings on update."""

    create: Callable[[Value], Iterator[str]]
    update: Callable[[Value, Value], Iterator[str]] | None = None


class Conversion(NamedTuple):
    """The conversions between a served version and the stored one.

    Both return a new object, do not change the given one, keep every field that both versions have, and never fail.
    """

    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]


class Kind(NamedTuple):
    """Everything that is particular to a built-in kind."""

    group: str
    name: str
    plural: str = ""
    defaults: Callable[[], Callable[[Object], None]] | None = None
    defaults_of_version: Mapping[str, Callable[[], Callable[[Object], None]]] = MappingProxyType({})
    strategy: Callable[[], Strategy] = Strategy
    validation: Callable[[], Validation] | None = None
    warnings: Callable[[], Warnings] | None = None
    columns: Callable[[], Printer] | None = None
    conversions: Mapping[str, Callable[[], Conversion]] = MappingProxyType({})
    """The conversions of each served version that is not the stored one, by served version."""


def on_every_write(warn: Callable[[Value], Iterator[str]]) -> Warnings:
    """Returns warnings that depend on the new object alone, for creates and updates."""
    return Warnings(warn, lambda new, _: warn(new))
