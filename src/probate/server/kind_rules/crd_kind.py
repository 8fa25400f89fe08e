"""CrdKindRules: the rules of CustomResourceDefinitions themselves, a built-in kind."""

from __future__ import annotations

from probate.api.crds import crd_validation, strategy
from probate.api.field_errors import FieldError, FieldPath, invalid
from probate.api.objects import Object
from probate.kinds.builtin import own_kinds
from probate.server.kind_rules.builtin_kinds import BuiltinKindRules


class CrdKindRules(BuiltinKindRules):
    """The rules of CustomResourceDefinitions."""

    def set_defaults(self, object_: Object) -> None:
        strategy.set_defaults(object_)
        super().set_defaults(object_)

    def prepare_for_create(self, object_: Object, *, uid: str, now: str) -> None:
        super().prepare_for_create(object_, uid=uid, now=now)
        strategy.prepare_create(object_)

    def validate_create(self, object_: Object) -> list[FieldError]:
        problems = super().validate_create(object_) + crd_validation.validate_create(object_)
        group = object_["spec"].get("group")
        if group in own_kinds.groups():
            problems.append(invalid(FieldPath("spec") / "group", group, "the kinds of this group are built in"))
        return problems

    def prepare_for_update(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        strategy.set_defaults(new)
        super().prepare_for_update(new, old, subresource, now=now)
        if subresource != "status":
            strategy.prepare_update(new, old)

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        found = super().validate_update(new, old, subresource)
        if subresource == "status":
            return found + crd_validation.validate_status_update(new)
        return found + crd_validation.validate_update(new, old)
