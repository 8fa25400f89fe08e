"""What people do all day, with the kubectl of each version, and what they see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

Kubectl = Callable[..., str]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1.25"}]}
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, description: How big it is.}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def replicas(kubectl: Kubectl, namespace: str) -> str:
    return kubectl("-n", namespace, "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")


def test_what_is_served_can_be_asked(kubectl: Kubectl) -> None:
    rows = {line.split()[0]: line for line in kubectl("api-resources").splitlines()}
    assert rows["pods"].split()[1] == "po"
    assert re.search(r"deployments\s+deploy\s+apps", rows["deployments"])
    assert "apps/v1" in kubectl("api-versions").splitlines()
    assert "replicas" in kubectl("explain", "deployment.spec")
    assert "is running at" in kubectl("cluster-info")


def test_deployment_through_its_life(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    file = written(tmp_path, "web.yaml", DEPLOYMENT)
    here = ("-n", namespace)
    assert kubectl(*here, "apply", "-f", file) == "deployment.apps/web created\n"
    assert kubectl(*here, "apply", "-f", file) == "deployment.apps/web unchanged\n"
    shown = kubectl(*here, "get", "deploy", "-o", "wide").splitlines()
    assert shown[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert shown[1].split()[:2] == ["web", "0/2"]
    assert kubectl(*here, "get", "deploy", "-o", "name") == "deployment.apps/web\n"
    assert "web" in kubectl("get", "deploy", "-A", "-l", "app=web")
    assert "web" in kubectl(*here, "get", "deploy", "--field-selector", "metadata.name=web", "--chunk-size=1")
    assert json.loads(kubectl(*here, "get", "deploy", "web", "-o", "json"))["spec"]["strategy"]["type"] == "RollingUpdate"
    assert "RollingUpdateStrategy:  25% max unavailable, 25% max surge" in kubectl(*here, "describe", "deploy", "web")
    kubectl(*here, "edit", "deploy", "web", KUBE_EDITOR="sed -i s/replicas:.2/replicas:\\ 3/")
    assert replicas(kubectl, namespace) == "3"
    kubectl(*here, "patch", "deploy", "web", "-p", '{"spec":{"replicas":4}}')
    assert replicas(kubectl, namespace) == "4"
    kubectl(*here, "patch", "deploy", "web", "--type=merge", "-p", '{"spec":{"replicas":5}}')
    assert replicas(kubectl, namespace) == "5"
    kubectl(*here, "patch", "deploy", "web", "--type=json", "-p", '[{"op":"replace","path":"/spec/replicas","value":6}]')
    assert replicas(kubectl, namespace) == "6"
    assert "scaled" in kubectl(*here, "scale", "deploy", "web", "--replicas=1")
    assert replicas(kubectl, namespace) == "1"
    assert "image updated" in kubectl(*here, "set", "image", "deploy/web", "c=nginx:1.26")
    assert "labeled" in kubectl(*here, "label", "deploy", "web", "tier=front")
    assert "annotated" in kubectl(*here, "annotate", "deploy", "web", "note=x")
    assert "-        image: nginx:1.26" in kubectl(*here, "diff", "-f", file, fails=True).replace("      - image", "-        image")
    assert kubectl(*here, "replace", "-f", file) == "deployment.apps/web replaced\n"
    assert "exposed" in kubectl(*here, "expose", "deploy", "web", "--port=80")
    assert "deleted" in kubectl(*here, "delete", "deploy", "web", "--cascade=foreground", "--wait=true", "--timeout=10s")
    assert "NotFound" in kubectl(*here, "get", "deploy", "web", fails=True)


def test_objects_made_by_generators_and_deleted_in_each_way(kubectl: Kubectl, namespace: str) -> None:
    here = ("-n", namespace)
    assert kubectl(*here, "create", "configmap", "a", "--from-literal=k=v") == "configmap/a created\n"
    assert kubectl(*here, "get", "configmap", "a", "-o", "jsonpath={.data.k}") == "v"
    assert kubectl(*here, "create", "secret", "generic", "s", "--from-literal=k=v") == "secret/s created\n"
    assert kubectl(*here, "get", "secret", "s", "-o", "jsonpath={.data.k}") == "dg=="
    assert "created" in kubectl(*here, "create", "role", "r", "--verb=get", "--resource=pods")
    assert "created" in kubectl(*here, "create", "job", "j", "--image=busybox")
    assert kubectl(*here, "run", "p", "--image=nginx") == "pod/p created\n"
    assert "Pending" in kubectl(*here, "get", "pods")
    assert "deleted" in kubectl(*here, "delete", "pod", "p", "--force", "--grace-period=0")
    assert "deleted" in kubectl(*here, "delete", "configmap", "a", "--cascade=orphan")
    assert "deleted" in kubectl(*here, "delete", "secrets", "--all")
    assert "No resources found" in kubectl(*here, "get", "secrets")


def test_custom_kind_is_like_a_built_in_one(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    singular = "widget" + re.sub(r"\D", "", namespace)
    text = DEFINITION.replace("PLURAL", singular + "s").replace("SINGULAR", singular).replace("KIND", singular.capitalize())
    definition = written(tmp_path, "definition.yaml", text)
    assert "created" in kubectl("apply", "-f", definition)
    thing = f"apiVersion: demo.example.com/v1\nkind: {singular.capitalize()}\nmetadata: {{name: w}}\nspec: {{size: 3}}\n"
    file = written(tmp_path, "thing.yaml", thing)
    assert "created" in kubectl("-n", namespace, "apply", "-f", file)
    assert "unchanged" in kubectl("-n", namespace, "apply", "-f", file)
    assert [line.split() for line in kubectl("-n", namespace, "get", singular).splitlines()] == [["NAME", "SIZE"], ["w", "3"]]
    assert "How big it is." in kubectl("explain", f"{singular}.spec.size")
    bad = written(tmp_path, "bad.yaml", thing.replace("size: 3", "size: large"))
    assert "spec.size" in kubectl("-n", namespace, "apply", "-f", bad, fails=True)
    assert "deleted" in kubectl("-n", namespace, "delete", "-f", file)
    assert "deleted" in kubectl("delete", "-f", definition)
