"""What Kubernetes does to an object once, when it is created or changed, beyond reading it (`defaulting`).

Users do not set status through an object's main path, generations count changes of what is wanted, and the admission plug-ins that
every cluster has leave their marks. All of it is done to objects that have been defaulted, and before they are checked.
`table` is the door. What needs other objects or the cluster's state (addresses, classes, accounts) is the server's.
"""
