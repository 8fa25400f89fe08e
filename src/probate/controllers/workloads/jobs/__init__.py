"""Jobs: pods that are to end well, a number of times.

A pod that has ended is evidence, and evidence can be deleted by anybody at any time. So each pod of a Job holds a finalizer until
the Job has written down how the pod ended: nothing is counted twice, and nothing is missed, whenever the controller is stopped.
"""
