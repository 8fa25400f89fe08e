"""Prints as JSON whom the server authenticates with each of these kubeconfigs, and what it allows.

credentials.py KUBECONFIG... [--as USER]
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException


def code_of(call: Any) -> int:
    """Returns the status code of the response."""
    try:
        call()
    except ApiException as refused:
        return int(refused.status)
    return 200


def describe(kubeconfig: str, impersonated: str) -> dict[str, Any]:
    """Returns the user of one kubeconfig and what it may read."""
    api = config.new_client_from_config(kubeconfig)
    if impersonated:
        api.set_default_header("Impersonate-User", impersonated)
    core = client.CoreV1Api(api)
    try:
        review = client.AuthenticationV1Api(api).create_self_subject_review(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        )
    except ApiException as refused:
        return {"code": refused.status, "body": refused.body}
    result: dict[str, Any] = {"username": review.status.user_info.username, "groups": review.status.user_info.groups}
    result["secrets"] = code_of(lambda: core.list_namespaced_secret("default"))
    if code_of(lambda: core.list_namespaced_config_map("default")) == 200:
        result["configmaps"] = [one.metadata.name for one in core.list_namespaced_config_map("default").items]
    return result


files, _, rest = " ".join(sys.argv[1:]).partition(" --as ")
print(json.dumps([describe(file, rest) for file in files.split()]))
