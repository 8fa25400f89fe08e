"""AdmissionControl: what the verbs and the write path use of admission, for one server.

It is complete without any plugin: `probate.app.admission_plugins` installs the plugins and reads their configuration.
"""

from __future__ import annotations

from probate.core.aio.large_work import Offloader
from probate.server.admission.chain import AdmissionChain
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.phases import AdmissionPhases
from probate.server.admission.pod_topology_labels import PodTopologyLabels
from probate.server.admission.priority import PriorityAdmission
from probate.server.admission.runtime_class import RuntimeClassAdmission
from probate.server.admission.volume_expansion import VolumeExpansion
from probate.server.kind_registry import KindRegistry
from probate.store.contract import Store


class AdmissionControl:
    """The chain of plugins, the objects that configure them, and the checks of built-in kinds that always run."""

    def __init__(self, store: Store, kinds: KindRegistry, offloader: Offloader) -> None:
        self.chain = AdmissionChain()
        self.phases = AdmissionPhases(self.chain, kinds, offloader)
        self.configuration = PluginConfiguration(store, lambda: kinds.catalog)
        self.priority = PriorityAdmission()
        self.runtime_class = RuntimeClassAdmission()
        self.volume_expansion = VolumeExpansion()
        self.topology_labels = PodTopologyLabels(store, kinds)
