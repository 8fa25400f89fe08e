"""The informer of `kubernetes`: prints the events that it receives until it is stopped."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

from kubernetes import client, config
from kubernetes.informer import SharedInformer

WORDS = {"ADDED": "add", "MODIFIED": "update", "DELETED": "delete"}


def main(namespace: str) -> None:
    logging.disable()
    config.load_kube_config()
    core = client.CoreV1Api()
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace, label_selector="set=followed")
    for kind, word in WORDS.items():

        def tell(found: Any, word: str = word) -> None:
            print(word, found.metadata.name, flush=True)

        informer.add_event_handler(kind, tell)
    informer.start()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
