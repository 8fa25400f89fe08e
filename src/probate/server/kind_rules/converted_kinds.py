"""ConvertedKindRules: the rules of a served version that is not the stored version of its kind."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds import conversion
from probate.kinds import defaults as defaulting
from probate.server.kind_rules.builtin_kinds import BuiltinKindRules
from probate.server.kind_rules.contract import DecodedObject


class ConvertedKindRules(BuiltinKindRules):
    """Decodes by the served version, then converts to the stored version and follows its rules."""

    def matches_exactly(self, value: Object) -> bool:
        return False  # objects always need conversion to the stored version

    def decode(self, value: Object) -> DecodedObject:
        object_, unknown = super().decode(value)
        defaulting.apply(self._served, object_)
        return DecodedObject(conversion.to_stored(self._served, object_), unknown)
