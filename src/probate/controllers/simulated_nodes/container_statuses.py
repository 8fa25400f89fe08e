"""The container statuses of a simulated pod. All its containers are in the same state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.controllers.simulated_nodes.pod_lifecycle import ContainerState

MESSAGES = {
    "ErrImagePull": "the image {} cannot be pulled",
    "ImagePullBackOff": "Back-off pulling image {}",
    "CrashLoopBackOff": "the container terminated and restarts after a back-off",
}


class PodSnapshot(NamedTuple):
    """A pod, the state of its containers, the images that cannot be pulled, and the resources that the node has allocated."""

    pod: Object
    state: ContainerState
    unpullable: frozenset[str]
    resources: Mapping[str, Object]

    def before(self, container: Object, field: str = "containerStatuses") -> Object:
        """Returns the container's previous status."""
        statuses = (self.pod.get("status") or {}).get(field) or ()
        return next((status for status in statuses if status["name"] == container["name"]), {})

    def cannot_pull(self, container: Object) -> bool:
        return container.get("image") in self.unpullable

    @property
    def is_initialized(self) -> bool:
        """Whether the init containers have started."""
        return self.state.activity != "pull_failed" or not any(map(self.cannot_pull, self.pod["spec"].get("initContainers") or ()))


def container_status(container: Object, snapshot: PodSnapshot, *, is_ready: bool) -> Object:
    """Returns the status of a container."""
    if snapshot.state.activity == "pull_failed":
        return _waiting_status(container, snapshot, "ContainerCreating" if snapshot.is_initialized else "PodInitializing")
    state, container_id = snapshot.state, _container_id(container, snapshot)
    current_state, last_state = _states(container, snapshot, container_id)
    return _status(
        container,
        snapshot,
        container_id,
        restartCount=state.restarts,
        ready=is_ready,
        started=state.activity == "running",
        state=current_state,
        lastState=last_state,
    )


def init_container_status(container: Object, snapshot: PodSnapshot) -> Object:
    """Returns the status of an init container, which succeeded before the other containers started, or of a sidecar, which is in
    the same state as they are.
    """
    if not snapshot.is_initialized and not _is_before_unpullable(container, snapshot):
        return _waiting_status(container, snapshot, "PodInitializing")
    is_sidecar, state = container.get("restartPolicy") == "Always", snapshot.state
    started_at: str = (snapshot.pod.get("status") or {}).get("startTime") or format_time(state.since or 0)
    container_id = f"{snapshot.pod['metadata']['uid']}/{container['name']}/0"
    common = {"restartCount": 0, "lastState": {}}
    if is_sidecar and state.activity != "terminated":
        ready = state.activity in {"running", "pull_failed"}
        return _status(
            container, snapshot, container_id, **common, ready=ready, started=ready, state={"running": {"startedAt": started_at}}
        )
    terminated = {
        "terminated": _terminated(
            ContainerState("terminated", exit_code=0),
            started_at=started_at,
            finished_at=started_at,
            container_id=f"simulated://{container_id}",
        )
    }
    return _status(container, snapshot, container_id, **common, ready=not is_sidecar, started=False, state=terminated)


def ephemeral_container_status(container: Object, snapshot: PodSnapshot, now: str) -> Object:
    """Returns the status of an ephemeral container, which runs from its creation until the pod ends."""
    before = snapshot.before(container, "ephemeralContainerStatuses").get("state") or {}
    container_id = f"{snapshot.pod['metadata']['uid']}/{container['name']}/0"
    started_at: str = (before.get("running") or {}).get("startedAt") or now
    if snapshot.cannot_pull(container) and "running" not in before:
        state = {"waiting": _waiting("ErrImagePull", container)}
    elif "terminated" in before:
        state = before
    elif snapshot.state.activity == "terminated":
        state = {
            "terminated": _terminated(
                ContainerState("terminated", exit_code=137),
                started_at=started_at,
                finished_at=now,
                container_id=f"simulated://{container_id}",
            )
        }
    else:
        state = {"running": {"startedAt": started_at}}
    image = container.get("image") or ""
    ids = {"image": image, "imageID": f"simulated://{image}", "containerID": f"simulated://{container_id}"}
    return {"name": container["name"], **ids, "restartCount": 0, "ready": False, "state": state, "lastState": {}}


def _is_before_unpullable(container: Object, snapshot: PodSnapshot) -> bool:
    """Returns whether the init container comes before the first one whose image cannot be pulled."""
    for init_container in snapshot.pod["spec"]["initContainers"]:
        if snapshot.cannot_pull(init_container):
            return False
        if init_container is container:
            return True
    return False


def _waiting_status(container: Object, snapshot: PodSnapshot, reason: str) -> Object:
    """Returns the status of a container that has not started because an image cannot be pulled."""
    waiting = _waiting(snapshot.state.reason, container) if snapshot.cannot_pull(container) else {"reason": reason}
    return {
        "name": container["name"],
        "image": container.get("image") or "",
        "imageID": "",
        "restartCount": 0,
        "ready": False,
        "started": False,
        "state": {"waiting": waiting},
        "lastState": {},
    }


def _waiting(reason: str, container: Object) -> Object:
    return {"reason": reason, "message": MESSAGES[reason].format(f'"{container.get("image")}"')}


def _container_id(container: Object, snapshot: PodSnapshot) -> str:
    return f"{snapshot.pod['metadata']['uid']}/{container['name']}/{snapshot.state.restarts}"


def _status(container: Object, snapshot: PodSnapshot, container_id: str, **fields: object) -> Object:
    image, resources = container.get("image") or "", snapshot.resources.get(container["name"]) or {}
    requests = resources.get("requests")
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"simulated://{image}",
        "containerID": f"simulated://{container_id}",
        **fields,
        "resources": resources,
        **({"allocatedResources": requests} if requests else {}),
    }


def _states(container: Object, snapshot: PodSnapshot, container_id: str) -> tuple[Object, Object]:
    """Returns the container's state and last state."""
    state, before = snapshot.state, snapshot.before(container)
    time, last = format_time(state.since or 0), before.get("lastState") or {}
    started_at = ((before.get("state") or {}).get("running") or {}).get("startedAt")
    if state.activity == "running":
        if started_at is not None and (before.get("restartCount") or 0) == state.restarts:
            return before["state"], last
        if before and "running" in before["state"]:  # it terminated and restarted at once
            last = {
                "terminated": _terminated(
                    state, started_at=started_at or time, finished_at=time, container_id=before["containerID"]
                )
            }
        return {"running": {"startedAt": time}}, last
    if state.activity == "backoff":
        waiting = {"waiting": _waiting("CrashLoopBackOff", container)}
        return waiting, last if started_at is None else {
            "terminated": _terminated(state, started_at=started_at, finished_at=time, container_id=f"simulated://{container_id}")
        }
    if "terminated" in (before.get("state") or {}):
        return before["state"], last
    return {
        "terminated": _terminated(
            state, started_at=started_at or time, finished_at=time, container_id=f"simulated://{container_id}"
        )
    }, last


def _terminated(state: ContainerState, *, started_at: str, finished_at: str, container_id: str) -> Object:
    exit_code = state.exit_code or 0
    reason = "Error" if exit_code else "Completed"
    return {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": started_at,
        "finishedAt": finished_at,
        "containerID": container_id,
    }
