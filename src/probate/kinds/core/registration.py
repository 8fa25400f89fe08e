"""Registers the kinds of the core API group: one row for each."""

from __future__ import annotations

from probate.kinds.apps import columns as apps_columns
from probate.kinds.apps import defaults as apps_defaults
from probate.kinds.apps import status_validation as apps_status_validation
from probate.kinds.apps import validation as apps_validation
from probate.kinds.apps import warnings as apps_warnings
from probate.kinds.core import (
    cluster_status_validation,
    cluster_validation,
    columns,
    config_validation,
    defaults,
    node_columns,
    persistent_volume_defaults,
    strategy,
    volume_columns,
)
from probate.kinds.core.pods import columns as pod_columns
from probate.kinds.core.pods import defaults as pod_defaults
from probate.kinds.core.pods import strategy as pod_strategy
from probate.kinds.core.pods import warnings as pod_warnings
from probate.kinds.core.pods.validation import resize as pod_resize_validation
from probate.kinds.core.pods.validation import spec as pod_validation
from probate.kinds.core.pods.validation import status as pod_status_validation
from probate.kinds.core.pods.validation import update as pod_update_validation
from probate.kinds.core.quota import validation as quota_validation
from probate.kinds.core.services import columns as service_columns
from probate.kinds.core.services import defaults as service_defaults
from probate.kinds.core.services import endpoints_validation
from probate.kinds.core.services import status_validation as service_status_validation
from probate.kinds.core.services import strategy as service_strategy
from probate.kinds.core.services import validation as service_validation
from probate.kinds.core.services import warnings as service_warnings
from probate.kinds.core.volumes import claim_defaults
from probate.kinds.core.volumes import status_validation as volume_status_validation
from probate.kinds.core.volumes import validation as volume_validation
from probate.kinds.core.volumes import warnings as volume_warnings
from probate.kinds.events import columns as events_columns
from probate.kinds.events import validation as events_validation
from probate.kinds.kind import Kind, Strategy, Validation, Warnings, on_every_write
from probate.kinds.shared import object_warnings

KINDS = (
    Kind(
        group="",
        name="ComponentStatus",
        plural="componentstatuses",
        columns=lambda: columns.PRINTERS["", "componentstatuses"],
    ),
    Kind(
        group="",
        name="ConfigMap",
        plural="configmaps",
        validation=lambda: Validation(create=config_validation.check_config_map, update=config_validation.update_config_map),
        columns=lambda: columns.PRINTERS["", "configmaps"],
    ),
    Kind(
        group="",
        name="Endpoints",
        plural="endpoints",
        defaults=lambda: service_defaults.default_endpoints,
        validation=lambda: Validation(create=endpoints_validation.check_endpoints),
        warnings=lambda: on_every_write(service_warnings.of_endpoints),
        columns=lambda: service_columns.PRINTERS["", "endpoints"],
    ),
    Kind(
        group="",
        name="Event",
        plural="events",
        validation=lambda: Validation(create=events_validation.check_event),
        columns=lambda: events_columns.PRINTERS["", "events"],
    ),
    Kind(
        group="",
        name="LimitRange",
        defaults=lambda: defaults.default_limit_range,
        strategy=lambda: Strategy(create_named=strategy.create_limit_range),
        validation=lambda: Validation(create=quota_validation.check_limit_range),
    ),
    Kind(
        group="",
        name="Namespace",
        plural="namespaces",
        defaults=lambda: defaults.default_namespace,
        strategy=lambda: Strategy(has_status=True, create=strategy.create_namespace, update=strategy.update_namespace),
        validation=lambda: Validation(
            create=cluster_validation.check_namespace,
            status=cluster_status_validation.check_namespace_status,
            subresources={"finalize": cluster_status_validation.check_finalize},
        ),
        columns=lambda: columns.PRINTERS["", "namespaces"],
    ),
    Kind(
        group="",
        name="Node",
        plural="nodes",
        defaults=lambda: defaults.default_node,
        strategy=lambda: Strategy(
            has_status=True,
            status_on_create=True,
            create=strategy.create_node,
            update=strategy.update_node,
            update_status=strategy.update_node_status,
        ),
        validation=lambda: Validation(
            create=cluster_validation.check_node,
            update=cluster_validation.update_node,
            status=cluster_status_validation.check_node_status,
            new_on_update=cluster_validation.check_known_node,
        ),
        warnings=lambda: on_every_write(object_warnings.of_node),
        columns=lambda: node_columns.PRINTERS["", "nodes"],
    ),
    Kind(
        group="",
        name="PersistentVolume",
        plural="persistentvolumes",
        defaults=lambda: persistent_volume_defaults.default_persistent_volume,
        strategy=lambda: Strategy(
            has_status=True, create_at=strategy.create_volume, update_status_at=strategy.update_volume_status
        ),
        validation=lambda: Validation(create=volume_validation.check_volume, update=volume_validation.update_volume),
        warnings=lambda: on_every_write(volume_warnings.of_volume),
        columns=lambda: volume_columns.PRINTERS["", "persistentvolumes"],
    ),
    Kind(
        group="",
        name="PersistentVolumeClaim",
        plural="persistentvolumeclaims",
        defaults=lambda: claim_defaults.default_claim,
        strategy=lambda: Strategy(has_status=True, create=strategy.create_claim, update=strategy.update_claim),
        validation=lambda: Validation(
            create=volume_validation.check_claim,
            update=volume_validation.update_claim,
            status=volume_status_validation.check_claim_status,
        ),
        warnings=lambda: on_every_write(volume_warnings.of_claim),
        columns=lambda: volume_columns.PRINTERS["", "persistentvolumeclaims"],
    ),
    Kind(
        group="",
        name="Pod",
        plural="pods",
        defaults=lambda: pod_defaults.default_pod,
        strategy=lambda: Strategy(
            has_status=True,
            generation_fields=("spec",),
            create=pod_strategy.create_pod,
            update=pod_strategy.update_pod,
            update_status=pod_strategy.update_pod_status,
            metadata_kept_on_status=("ownerReferences", "deletionTimestamp"),
        ),
        validation=lambda: Validation(
            create=pod_validation.create_pod,
            update=pod_update_validation.check_update,
            status=pod_status_validation.check_pod_status,
            new_on_update=pod_validation.check_pod,
            subresources={
                "ephemeralcontainers": pod_update_validation.check_ephemeral_containers,
                "resize": pod_resize_validation.check_resize,
            },
        ),
        warnings=lambda: Warnings(pod_warnings.of_pod),
        columns=lambda: pod_columns.PRINTERS["", "pods"],
    ),
    Kind(
        group="",
        name="PodTemplate",
        plural="podtemplates",
        defaults=lambda: apps_defaults.default_pod_template,
        strategy=lambda: Strategy(generation_fields=("template",)),
        validation=lambda: Validation(create=apps_validation.check_pod_template),
        warnings=lambda: Warnings(apps_warnings.of_pod_template, apps_warnings.if_spec_changed(apps_warnings.of_pod_template)),
        columns=lambda: pod_columns.PRINTERS["", "podtemplates"],
    ),
    Kind(
        group="",
        name="ReplicationController",
        plural="replicationcontrollers",
        defaults=lambda: apps_defaults.default_replication_controller,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=apps_validation.check_replication_controller, status=apps_status_validation.check_replica_set
        ),
        warnings=lambda: Warnings(
            apps_warnings.with_name_warnings(apps_warnings.of_workload), apps_warnings.if_spec_changed(apps_warnings.of_workload)
        ),
        columns=lambda: apps_columns.PRINTERS["", "replicationcontrollers"],
    ),
    Kind(
        group="",
        name="ResourceQuota",
        plural="resourcequotas",
        defaults=lambda: defaults.default_resource_quota,
        strategy=lambda: Strategy(has_status=True),
        validation=lambda: Validation(
            create=quota_validation.check_quota, update=quota_validation.update_quota, status=quota_validation.check_quota_status
        ),
        columns=lambda: columns.PRINTERS["", "resourcequotas"],
    ),
    Kind(
        group="",
        name="Secret",
        plural="secrets",
        defaults=lambda: defaults.default_secret,
        validation=lambda: Validation(create=config_validation.check_secret, update=config_validation.update_secret),
        warnings=lambda: on_every_write(object_warnings.of_secret),
        columns=lambda: columns.PRINTERS["", "secrets"],
    ),
    Kind(
        group="",
        name="Service",
        plural="services",
        defaults=lambda: service_defaults.default_service,
        strategy=lambda: Strategy(has_status=True, create=service_strategy.create_service, update=service_strategy.update_service),
        validation=lambda: Validation(
            create=service_validation.check_service,
            update=service_validation.update_service,
            status=service_status_validation.check_service_status,
        ),
        warnings=lambda: on_every_write(service_warnings.of_service),
        columns=lambda: service_columns.PRINTERS["", "services"],
    ),
    Kind(
        group="",
        name="ServiceAccount",
        plural="serviceaccounts",
        strategy=lambda: Strategy(create=strategy.create_account, update=strategy.update_account),
        warnings=lambda: Warnings(object_warnings.of_account, object_warnings.of_changed_account),
        columns=lambda: columns.PRINTERS["", "serviceaccounts"],
    ),
)
