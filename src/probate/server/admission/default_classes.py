"""Sets the default class of PersistentVolumeClaims and Ingresses that name none, when they are created.

Both plugins are disabled while there is no default class. An object of a tenant gets the newest default class of those that the
tenant has or that the platform shares with it; other objects get one of the platform's.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core.aio.large_work import Offloader
from probate.kinds.shared import default_classes
from probate.server.admission.admission_attributes import CREATE, Attributes
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import Target


class ClassedKind(NamedTuple):
    """A kind whose objects name a class: in a field, or in a legacy annotation."""

    order: PluginOrder
    group: str
    plural: str
    field: str
    legacy_annotation: str
    classes: GroupResource
    annotations: tuple[str, ...]  # the annotations that mark the default class


PERSISTENT_VOLUME_CLAIMS = ClassedKind(
    PluginOrder.STORAGE_CLASSES,
    "",
    "persistentvolumeclaims",
    "storageClassName",
    default_classes.CLAIM_CLASS_ANNOTATION,
    GroupResource("storage.k8s.io", "storageclasses"),
    default_classes.STORAGE_CLASS_ANNOTATIONS,
)
INGRESSES = ClassedKind(
    PluginOrder.INGRESS_CLASSES,
    "networking.k8s.io",
    "ingresses",
    "ingressClassName",
    default_classes.INGRESS_OLD_ANNOTATION,
    GroupResource("networking.k8s.io", "ingressclasses"),
    default_classes.INGRESS_CLASS_ANNOTATIONS,
)
KINDS = (PERSISTENT_VOLUME_CLAIMS, INGRESSES)


class DefaultClassPlugin:
    """Sets the default class of one kind."""

    def __init__(self, kind: ClassedKind, chain: AdmissionChain, offloader: Offloader) -> None:
        self._kind = kind
        self._chain = chain
        self._offloader = offloader
        self._defaults: list[Object] = []
        self._names: dict[str, str] = {}  # by tenant: the default class, empty if there is none

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the classes of the kind."""
        configuration.subscribe(self._kind.classes, self._configure, includes_tenants=True)

    def _configure(self, objects: dict[str, Object]) -> None:
        self._defaults = default_classes.defaults(objects.values(), self._kind.annotations)
        self._names = {}
        if self._defaults:
            self._chain.enable(self._kind.order, self)
        else:
            self._chain.disable(self._kind.order)

    def handles(self, operation: str, at: Target) -> bool:
        is_new = operation == CREATE and not at.subresource
        return is_new and at.resource.plural == self._kind.plural and at.resource.group == self._kind.group

    async def mutate(self, write: Attributes) -> None:
        object_, kind = write.object or {}, self._kind
        spec = object_.get("spec") or {}
        name = self._default_of(tenants.tenant_of(object_))
        if name and spec.get(kind.field) is None and not default_classes.has_annotation(object_, kind.legacy_annotation):
            filled = {**object_, "spec": {**spec, kind.field: name}}
            await self._offloader.offload_if_large(write.size, lambda: write.replace_object(filled))

    def _default_of(self, tenant: str) -> str:
        """Returns the name of the default class of a tenant, or of the platform; empty if there is none."""
        if tenant not in self._names:
            applicable = [one for one in self._defaults if tenants.applies_to(one, tenant)]
            default = default_classes.find_default(applicable, self._kind.annotations)
            self._names[tenant] = "" if default is None else default["metadata"]["name"]
        return self._names[tenant]
