"""A typical kopf operator: creates a child for each Order, monitors it, and cleans up. Nothing here is specific to Probate.

    kopf run bakery.py --standalone --namespace NAMESPACE

With BAKERY_CERTIFICATES (a folder for certificates) it also serves an admission webhook for orders.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import kopf
import trustme
from kubernetes import client, config

CERTIFICATES = os.environ.get("BAKERY_CERTIFICATES")


@kopf.on.startup()
def begin(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.networking.error_backoffs = [0.1] * 100  # retry through server restarts
    settings.posting.level = 20
    if CERTIFICATES:
        folder = Path(CERTIFICATES)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
        files = {"certfile": folder / "server.pem", "pkeyfile": folder / "server.pem", "cafile": folder / "ca.pem"}
        settings.admission.server = kopf.WebhookServer(addr="127.0.0.1", **files)
        settings.admission.managed = "bakery.example.com"


def loaf(spec: kopf.Spec) -> dict[str, Any]:
    """Returns the child of an Order."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": str(spec.get("size", 1)), "flour": spec.get("flour", "rye")}}


@kopf.on.resume("orders", backoff=0.2)
@kopf.on.create("orders", backoff=0.2)
def bake(name: str, namespace: str, spec: kopf.Spec, *, body: kopf.Body, **_: Any) -> dict[str, str]:
    child = loaf(spec)
    kopf.adopt(child)
    child["metadata"]["name"] = f"loaf-{name}"
    try:
        client.CoreV1Api().create_namespaced_config_map(namespace, child)
    except client.ApiException as error:
        if error.status != 409:
            raise
    kopf.info(body, reason="Baked", message="a loaf is ready")
    return {"loaf": child["metadata"]["name"]}


@kopf.on.update("orders", field="spec", backoff=0.2)
def bake_again(name: str, namespace: str, spec: kopf.Spec, *, diff: kopf.Diff, **_: Any) -> dict[str, Any]:
    client.CoreV1Api().patch_namespaced_config_map(f"loaf-{name}", namespace, {"data": loaf(spec)["data"]})
    return {"changed": [".".join(field) for _operation, field, _old, _new in diff]}


@kopf.on.delete("orders", backoff=0.2)
def clear_away(name: str, namespace: str, **_: Any) -> None:
    note = {"metadata": {"name": f"cleared-{name}"}}
    try:
        client.CoreV1Api().create_namespaced_config_map(namespace, note)
    except client.ApiException as error:
        if error.status != 409:
            raise


@kopf.timer("orders", interval=0.2, when=lambda spec, **_: spec.get("watched"))
def look_after(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    if status.get("looks", 0) < 3:
        patch.status["looks"] = status.get("looks", 0) + 1


@kopf.daemon("orders", cancellation_polling=0.2, when=lambda spec, **_: spec.get("watched"))
async def smell(stopped: kopf.DaemonStopped, name: str, namespace: str, **_: Any) -> None:
    where = ("bakery.example.com", "v1", namespace, "orders", name)
    say = client.CustomObjectsApi().patch_namespaced_custom_object_status
    await asyncio.to_thread(lambda: say(*where, {"status": {"smell": "good"}}))
    await stopped.wait()
    note: dict[str, Any] = {"metadata": {"name": f"aired-{name}"}}
    await asyncio.to_thread(client.CoreV1Api().create_namespaced_config_map, namespace, note)


@kopf.on.event("configmaps", field="data.size")
def weigh(name: str, namespace: str, **_: Any) -> None:
    if name.startswith("loaf-"):
        scales = client.CoreV1Api()
        if "weighed" not in (scales.read_namespaced_config_map(name, namespace).metadata.labels or {}):
            scales.patch_namespaced_config_map(name, namespace, {"metadata": {"labels": {"weighed": "yes"}}})


if CERTIFICATES:

    @kopf.on.validate("orders")
    def accept(spec: kopf.Spec, warnings: list[str], **_: Any) -> None:
        if spec.get("size", 1) > 9:
            raise kopf.AdmissionError("the oven is too small", code=422)
        if spec.get("flour") == "white":
            warnings.append("rye is better for you")

    @kopf.on.mutate("orders", operations=["CREATE"])
    def complete(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
        if "flour" not in spec:
            patch.spec["flour"] = "spelt"
