"""Claims and Ingresses that name no class get the one that is everybody's, in the answer to their create already.

Both plugins sleep while no class is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.kinds.shared import default_classes
from probate.server.admission.attributes import CREATE, Attributes
from probate.server.admission.chain import Place
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]


class Defaulted(NamedTuple):
    """A kind whose objects have a class: in which field, or in which annotation of old."""

    place: Place
    group: str
    plural: str
    field: str
    note: str
    annotations: tuple[str, ...]  # by which a class says that it is everybody's


CLAIMS = Defaulted(
    Place.STORAGE_CLASSES,
    "",
    "persistentvolumeclaims",
    "storageClassName",
    default_classes.CLAIMS_OLD_CLASS,
    default_classes.OF_STORAGE,
)
INGRESSES = Defaulted(
    Place.INGRESS_CLASSES,
    "networking.k8s.io",
    "ingresses",
    "ingressClassName",
    default_classes.INGRESS_OLD_CLASS,
    default_classes.OF_INGRESSES,
)


def install(api: Api) -> None:
    """Let claims and Ingresses have the classes that there are."""
    api.configured.tell("storage.k8s.io", "v1", "storageclasses", DefaultClass(api, CLAIMS).configure)
    api.configured.tell("networking.k8s.io", "v1", "ingressclasses", DefaultClass(api, INGRESSES).configure)


class DefaultClass:
    """The class that is everybody's, for objects of one kind."""

    def __init__(self, api: Api, what: Defaulted) -> None:
        self._api = api
        self._what = what
        self._name = ""

    def configure(self, objects: dict[str, Object]) -> None:
        """From now on these are the classes."""
        found = default_classes.default_of(objects.values(), self._what.annotations)
        self._name = "" if found is None else found["metadata"]["name"]
        if self._name:
            self._api.admission.wake(self._what.place, self)
        else:
            self._api.admission.rest(self._what.place)

    def wants(self, operation: str, at: Target) -> bool:
        is_new = operation == CREATE and not at.subresource
        return is_new and at.resource.plural == self._what.plural and at.resource.group == self._what.group

    async def mutate(self, write: Attributes) -> None:
        object_, what = write.object or {}, self._what
        spec = object_.get("spec") or {}
        if spec.get(what.field) is None and not default_classes.has_note(object_, what.note):
            filled = {**object_, "spec": {**spec, what.field: self._name}}
            await self._api.apart(write.size, lambda: write.put(filled))
