"""Who the server says that we are, with each of these kubeconfigs, and what it lets us do: as JSON.

credentials.py KUBECONFIG... [--as USER]
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException


def code_of(call: Any) -> int:
    """Of the answer."""
    try:
        call()
    except ApiException as refused:
        return int(refused.status)
    return 200


def told(kubeconfig: str, other: str) -> dict[str, Any]:
    """All that is to be known about one of them."""
    api = config.new_client_from_config(kubeconfig)
    if other:
        api.set_default_header("Impersonate-User", other)
    core = client.CoreV1Api(api)
    try:
        who = client.AuthenticationV1Api(api).create_self_subject_review(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        )
    except ApiException as refused:
        return {"code": refused.status, "body": refused.body}
    found: dict[str, Any] = {"username": who.status.user_info.username, "groups": who.status.user_info.groups}
    found["secrets"] = code_of(lambda: core.list_namespaced_secret("default"))
    if code_of(lambda: core.list_namespaced_config_map("default")) == 200:
        found["configmaps"] = [one.metadata.name for one in core.list_namespaced_config_map("default").items]
    return found


files, _, rest = " ".join(sys.argv[1:]).partition(" --as ")
print(json.dumps([told(file, rest) for file in files.split()]))
