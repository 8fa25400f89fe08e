"""Kinds that are stored in the shape of another version: they are read as what they are, and then follow the rules of the other."""

from __future__ import annotations

from probate.kinds import conversion
from probate.kinds import defaults as defaulting
from probate.server.kind_rules.builtin_kinds import BuiltIn
from probate.server.kind_rules.contract import Object, Typed


class Converted(BuiltIn):
    """The rules of a version that is not stored. Objects are of the stored shape as soon as they have been read."""

    def fits(self, value: Object) -> bool:
        return False  # whatever it is, it is not yet of the stored shape

    def read(self, value: Object) -> Typed:
        object_, unknown = super().read(value)
        defaulting.apply(*self._served, object_)
        return Typed(conversion.stored(self._served, object_), unknown)
