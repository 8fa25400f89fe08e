"""The statuses of a simulated pod's containers, which are all in the same state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.api.timestamps import timestamp
from probate.client.objects import Object
from probate.controllers.simulated_nodes.pod_lifecycle import State

MESSAGES = {
    "ErrImagePull": "the image {} cannot be pulled",
    "ImagePullBackOff": "Back-off pulling image {}",
    "CrashLoopBackOff": "the container has ended, and starts again after a rest",
}


class Scene(NamedTuple):
    """A pod, what its containers do, which of its images cannot be pulled, and what resources the node has given them."""

    pod: Object
    state: State
    lacking: frozenset[str]
    given: Mapping[str, Object]

    def before(self, container: Object, field: str = "containerStatuses") -> Object:
        """The container's status so far."""
        known = (self.pod.get("status") or {}).get(field) or ()
        return next((one for one in known if one["name"] == container["name"]), {})

    def lacks(self, container: Object) -> bool:
        return container.get("image") in self.lacking

    @property
    def is_initialised(self) -> bool:
        """Whether the init containers have begun."""
        return self.state.doing != "pull" or not any(map(self.lacks, self.pod["spec"].get("initContainers") or ()))


def shown(container: Object, scene: Scene, *, is_ready: bool) -> Object:
    """The status of a container."""
    if scene.state.doing == "pull":
        return _held(container, scene, "ContainerCreating" if scene.is_initialised else "PodInitializing")
    state, id_ = scene.state, _id(container, scene)
    now, last = _states(container, scene, id_)
    return _status(
        container, scene, id_, restartCount=state.runs, ready=is_ready, started=state.doing == "run", state=now, lastState=last
    )


def init(container: Object, scene: Scene) -> Object:
    """The status of an init container, which has ended well before the others began; or of a sidecar, which does as they do."""
    if not scene.is_initialised and not _is_past(container, scene):
        return _held(container, scene, "PodInitializing")
    is_sidecar, state = container.get("restartPolicy") == "Always", scene.state
    began: str = (scene.pod.get("status") or {}).get("startTime") or timestamp(state.since or 0)
    id_ = f"{scene.pod['metadata']['uid']}/{container['name']}/0"
    told = {"restartCount": 0, "lastState": {}}
    if is_sidecar and state.doing != "ended":
        ready = state.doing in {"run", "pull"}
        return _status(container, scene, id_, **told, ready=ready, started=ready, state={"running": {"startedAt": began}})
    done = {"terminated": _ended(State("ended", code=0), began, began, f"simulated://{id_}")}
    return _status(container, scene, id_, **told, ready=not is_sidecar, started=False, state=done)


def ephemeral(container: Object, scene: Scene, now: str) -> Object:
    """The status of an ephemeral container: it runs from when it is there to the end of the pod."""
    before = scene.before(container, "ephemeralContainerStatuses").get("state") or {}
    id_ = f"{scene.pod['metadata']['uid']}/{container['name']}/0"
    began: str = (before.get("running") or {}).get("startedAt") or now
    if scene.lacks(container) and "running" not in before:
        state = {"waiting": _waiting("ErrImagePull", container)}
    elif "terminated" in before:
        state = before
    elif scene.state.doing == "ended":
        state = {"terminated": _ended(State("ended", code=137), began, now, f"simulated://{id_}")}
    else:
        state = {"running": {"startedAt": began}}
    image = container.get("image") or ""
    ids = {"image": image, "imageID": f"simulated://{image}", "containerID": f"simulated://{id_}"}
    return {"name": container["name"], **ids, "restartCount": 0, "ready": False, "state": state, "lastState": {}}


def _is_past(container: Object, scene: Scene) -> bool:
    """Whether an init container comes before the one for which the pod has no image."""
    for one in scene.pod["spec"]["initContainers"]:
        if scene.lacks(one):
            return False
        if one is container:
            return True
    return False


def _held(container: Object, scene: Scene, reason: str) -> Object:
    """The status of a container that has not started, since an image cannot be pulled."""
    waiting = _waiting(scene.state.reason, container) if scene.lacks(container) else {"reason": reason}
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


def _id(container: Object, scene: Scene) -> str:
    return f"{scene.pod['metadata']['uid']}/{container['name']}/{scene.state.runs}"


def _status(container: Object, scene: Scene, id_: str, **told: object) -> Object:
    image, given = container.get("image") or "", scene.given.get(container["name"]) or {}
    requests = given.get("requests")
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"simulated://{image}",
        "containerID": f"simulated://{id_}",
        **told,
        "resources": given,
        **({"allocatedResources": requests} if requests else {}),
    }


def _states(container: Object, scene: Scene, id_: str) -> tuple[Object, Object]:
    """How the container is, and how it was before that."""
    state, before = scene.state, scene.before(container)
    at, last = timestamp(state.since or 0), before.get("lastState") or {}
    began = ((before.get("state") or {}).get("running") or {}).get("startedAt")
    if state.doing == "run":
        if began is not None and (before.get("restartCount") or 0) == state.runs:
            return before["state"], last
        if before and "running" in before["state"]:  # it ended, and runs again at once
            last = {"terminated": _ended(state, began or at, at, before["containerID"])}
        return {"running": {"startedAt": at}}, last
    if state.doing == "rest":
        rests = {"waiting": _waiting("CrashLoopBackOff", container)}
        return rests, last if began is None else {"terminated": _ended(state, began, at, f"simulated://{id_}")}
    if "terminated" in (before.get("state") or {}):
        return before["state"], last
    return {"terminated": _ended(state, began or at, at, f"simulated://{id_}")}, last


def _ended(state: State, began: str, at: str, id_: str) -> Object:
    code = state.code or 0
    reason = "Error" if code else "Completed"
    return {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": at, "containerID": id_}
