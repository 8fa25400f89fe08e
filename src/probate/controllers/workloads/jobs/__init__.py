"""Jobs: pods that run until a number of them have succeeded.

Any client can delete a finished pod at any time, before its result is counted. So each pod of a Job holds a finalizer until the
Job's status records how the pod ended: no pod is counted twice and none is missed, whenever the controller is stopped.
"""
