"""One valid object of each common kind, after defaulting: the starting point of validation tests."""

from __future__ import annotations

import copy
from typing import Any

from support import certificate_requests

LABELS = {"app": "a"}
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "example.com/i:1",
    "imagePullPolicy": "IfNotPresent",
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "protocol": "TCP"}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['app']"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "envFrom": [{"prefix": "X_", "configMapRef": {"name": "m"}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "a/b"}, {"name": "cm", "mountPath": "/cm"}],
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "example.com/gpu": "2"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "successThreshold": 1},
    "readinessProbe": {"tcpSocket": {"port": 80}},
    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    "securityContext": {"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
}
POD_SPEC: dict[str, Any] = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always", "startupProbe": {"grpc": {"port": 1}}}],
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": {"nameservers": ["1.2.3.4"], "searches": ["example.com"], "options": [{"name": "ndots", "value": "2"}]},
    "nodeSelector": {"disk": "ssd"},
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {"fsGroup": 1, "sysctls": [{"name": "net.core.somaxconn", "value": "1"}]},
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}}}
            ]
        },
    },
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "volumes": [
        {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "cm", "configMap": {"name": "m", "defaultMode": 420, "items": [{"key": "a", "path": "b/c", "mode": 256}]}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "t"}}]}},
        {"name": "down", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "host", "hostPath": {"path": "/x", "type": "Directory"}},
    ],
}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
JOB_TEMPLATE: dict[str, Any] = {"metadata": {"labels": LABELS}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
SELECTOR: dict[str, Any] = {"matchLabels": LABELS, "matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}
CLAIM: dict[str, Any] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "fast",
}
WEBHOOK: dict[str, Any] = {
    "name": "a.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/x", "port": 443}},
    "rules": [{"apiGroups": ["*"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    "timeoutSeconds": 10,
}
DEVICE: dict[str, Any] = {
    "deviceClassName": "c",
    "allocationMode": "ExactCount",
    "count": 1,
    "selectors": [{"cel": {"expression": "true"}}],
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}],
}
DEVICES: dict[str, Any] = {
    "requests": [{"name": "a", "exactly": DEVICE}, {"name": "b", "firstAvailable": [{"name": "c", **DEVICE}]}],
    "constraints": [{"requests": ["a", "b/c"], "matchAttribute": "d.io/x"}],
    "config": [{"requests": ["a"], "opaque": {"driver": "d.io", "parameters": {"a": 1}}}],
}

Key = tuple[str, str, str]

SAMPLES: dict[Key, dict[str, Any]] = {
    ("", "v1", "ConfigMap"): {"data": {"a": "b"}, "binaryData": {"c": "AAAA"}},
    ("", "v1", "Endpoints"): {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80, "protocol": "TCP"}]}]},
    ("", "v1", "Event"): {"involvedObject": {"kind": "Pod", "name": "x", "namespace": "n"}},
    ("", "v1", "LimitRange"): {
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}, "default": {"cpu": "2"}}]}
    },
    ("", "v1", "Namespace"): {"spec": {"finalizers": ["kubernetes"]}},
    ("", "v1", "Node"): {
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "providerID": "p", "podCIDRs": ["10.0.0.0/24"]}
    },
    ("", "v1", "PersistentVolume"): {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/x"},
            "volumeMode": "Filesystem",
        }
    },
    ("", "v1", "PersistentVolumeClaim"): {"spec": CLAIM},
    ("", "v1", "Pod"): {"spec": POD_SPEC},
    ("", "v1", "PodTemplate"): {"template": TEMPLATE},
    ("", "v1", "ReplicationController"): {"spec": {"replicas": 1, "selector": LABELS, "template": TEMPLATE}},
    ("", "v1", "ResourceQuota"): {
        "spec": {"hard": {"pods": "10", "requests.cpu": "1500m", "count/jobs.batch": "3"}, "scopes": ["NotBestEffort"]}
    },
    ("", "v1", "Secret"): {"type": "kubernetes.io/tls", "data": {"tls.crt": "AAAA", "tls.key": "AAAA"}},
    ("", "v1", "Service"): {
        "spec": {
            "type": "NodePort",
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"],
            "ports": [
                {"name": "a", "port": 80, "targetPort": "http", "protocol": "TCP", "nodePort": 30000},
                {"name": "b", "port": 53, "targetPort": 53, "protocol": "UDP"},
            ],
            "selector": LABELS,
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            "externalTrafficPolicy": "Cluster",
        }
    },
    ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"): {
        "spec": {"policyName": "p", "validationActions": ["Deny"]}
    },
    ("apiregistration.k8s.io", "v1", "APIService"): {
        "metadata": {"name": "v1.example.com"},
        "spec": {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1},
    },
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): {
        "spec": {"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 5}
    },
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    },
    ("networking.k8s.io", "v1", "IPAddress"): {"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}},
    ("networking.k8s.io", "v1", "ServiceCIDR"): {"spec": {"cidrs": ["10.0.0.0/16"]}},
    ("apps", "v1", "ControllerRevision"): {"data": {"a": 1}, "revision": 1},
    ("apps", "v1", "DaemonSet"): {
        "spec": {
            "selector": SELECTOR,
            "template": TEMPLATE,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        }
    },
    ("apps", "v1", "Deployment"): {
        "spec": {
            "replicas": 3,
            "selector": SELECTOR,
            "template": TEMPLATE,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "progressDeadlineSeconds": 600,
        }
    },
    ("apps", "v1", "ReplicaSet"): {"spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}},
    ("apps", "v1", "StatefulSet"): {
        "spec": {
            "replicas": 1,
            "selector": SELECTOR,
            "serviceName": "s",
            "podManagementPolicy": "OrderedReady",
            "template": {
                **TEMPLATE,
                "spec": {**POD_SPEC, "containers": [{**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": CLAIM}],
        }
    },
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): {
        "spec": {
            "maxReplicas": 3,
            "minReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            "targetCPUUtilizationPercentage": 50,
        }
    },
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): {
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
                {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
                {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "10"}}},
                {
                    "type": "Object",
                    "object": {
                        "metric": {"name": "q"},
                        "describedObject": {"kind": "Service", "name": "s"},
                        "target": {"type": "Value", "value": "1"},
                    },
                },
            ],
            "behavior": {
                "scaleDown": {"stabilizationWindowSeconds": 5, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
            },
        }
    },
    ("batch", "v1", "CronJob"): {
        "spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}
    },
    ("batch", "v1", "Job"): {
        "spec": {
            "completionMode": "Indexed",
            "completions": 3,
            "parallelism": 2,
            "template": JOB_TEMPLATE,
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]},
        }
    },
    ("certificates.k8s.io", "v1", "CertificateSigningRequest"): {"spec": certificate_requests.SPEC},
    ("coordination.k8s.io", "v1", "Lease"): {"spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "leaseTransitions": 0}},
    ("discovery.k8s.io", "v1", "EndpointSlice"): {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["1.2.3.4"], "hostname": "h"}],
        "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
    },
    ("networking.k8s.io", "v1", "Ingress"): {
        "spec": {
            "rules": [
                {
                    "host": "*.example.com",
                    "http": {
                        "paths": [
                            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}
                        ]
                    },
                }
            ],
            "tls": [{"hosts": ["a.example.com"], "secretName": "s"}],
        }
    },
    ("networking.k8s.io", "v1", "IngressClass"): {"spec": {"controller": "example.com/c"}},
    ("networking.k8s.io", "v1", "NetworkPolicy"): {
        "spec": {
            "podSelector": SELECTOR,
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "ports": [{"protocol": "TCP", "port": 80, "endPort": 90}],
                    "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"podSelector": {}}],
                }
            ],
        }
    },
    ("node.k8s.io", "v1", "RuntimeClass"): {"handler": "h"},
    ("policy", "v1", "PodDisruptionBudget"): {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
    ("rbac.authorization.k8s.io", "v1", "ClusterRole"): {
        "rules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
        "aggregationRule": {"clusterRoleSelectors": [SELECTOR]},
    },
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:x"},
        "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
    },
    ("rbac.authorization.k8s.io", "v1", "Role"): {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
    },
    ("resource.k8s.io", "v1", "DeviceClass"): {
        "spec": {
            "selectors": [{"cel": {"expression": 'device.driver == "d.io"'}}],
            "config": [{"opaque": {"driver": "d.io", "parameters": {"a": 1}}}],
            "extendedResourceName": "example.com/gpu",
        }
    },
    ("resource.k8s.io", "v1", "DeviceTaintRule"): {
        "spec": {"deviceSelector": {"driver": "d.io", "pool": "p", "device": "a"}, "taint": {"key": "k", "effect": "NoExecute"}}
    },
    ("resource.k8s.io", "v1", "ResourceClaim"): {"spec": {"devices": DEVICES}},
    ("resource.k8s.io", "v1", "ResourceClaimTemplate"): {"spec": {"metadata": {"labels": LABELS}, "spec": {"devices": DEVICES}}},
    ("resource.k8s.io", "v1", "ResourceSlice"): {
        "spec": {
            "driver": "d.io",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "perDeviceNodeSelection": True,
            "devices": [
                {
                    "name": "a",
                    "allNodes": True,
                    "allowMultipleAllocations": True,
                    "attributes": {"d.io/a": {"version": "1.2.3"}, "b": {"string": "b"}, "c": {"ints": [1, 2]}},
                    "capacity": {
                        "memory": {"value": "8", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}},
                        "cores": {"value": "8", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
                    },
                    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
                    "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
                    "bindingConditions": ["Ready"],
                    "bindingFailureConditions": ["Failed"],
                }
            ],
        }
    },
    ("scheduling.k8s.io", "v1", "PriorityClass"): {"value": 5, "preemptionPolicy": "Never"},
    ("storage.k8s.io", "v1", "CSIDriver"): {"spec": {"attachRequired": True, "fsGroupPolicy": "File"}},
    ("storage.k8s.io", "v1", "CSINode"): {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n"}]}},
    ("storage.k8s.io", "v1", "CSIStorageCapacity"): {"storageClassName": "fast"},
    ("storage.k8s.io", "v1", "StorageClass"): {"provisioner": "example.com/p", "reclaimPolicy": "Delete", "parameters": {"a": "b"}},
    ("storage.k8s.io", "v1", "VolumeAttachment"): {
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
    ("storage.k8s.io", "v1", "VolumeAttributesClass"): {"driverName": "d.example.com", "parameters": {"a": "b"}},
}


def sample(kind: str, **changes: Any) -> tuple[Key, dict[str, Any]]:
    """Returns a valid object of the kind with changes: `spec__replicas=1` sets spec.replicas; a number is a list index."""
    key = max(key for key in SAMPLES if key[2] == kind)
    object_ = copy.deepcopy({"metadata": {"name": "x", "namespace": "n"}, **SAMPLES[key]})
    for path, value in changes.items():
        *parts, last = path.split("__")
        at: Any = object_
        for part in parts:
            at = at[int(part)] if part.isdigit() else at.setdefault(part, {})
        at[int(last) if last.isdigit() else last] = value
    return key, object_
