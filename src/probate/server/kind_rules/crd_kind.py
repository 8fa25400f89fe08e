"""CustomResourceDefinitions themselves: built-in objects whose rules are about the kinds they define."""

from __future__ import annotations

from probate.api.crds import strategy, validation
from probate.api.field_errors import Problem
from probate.server.kind_rules.builtin_kinds import BuiltIn
from probate.server.kind_rules.contract import Object


class Definitions(BuiltIn):
    """The rules of CustomResourceDefinitions."""

    def set_defaults(self, object_: Object) -> None:
        strategy.set_defaults(object_)
        super().set_defaults(object_)

    def prepare_new(self, object_: Object, *, uid: str, now: str) -> None:
        super().prepare_new(object_, uid=uid, now=now)
        strategy.prepare_create(object_)

    def problems_of_new(self, object_: Object) -> list[Problem]:
        return super().problems_of_new(object_) + validation.validate_create(object_)

    def prepare_changed(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        strategy.set_defaults(new)
        super().prepare_changed(new, old, subresource, now=now)
        if subresource != "status":
            strategy.prepare_update(new, old)

    def problems_of_changed(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        found = super().problems_of_changed(new, old, subresource)
        if subresource == "status":
            return found + validation.validate_status_update(new)
        return found + validation.validate_update(new, old)
