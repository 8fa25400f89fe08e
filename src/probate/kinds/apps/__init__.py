"""The kinds of apps: Deployment, ReplicaSet, StatefulSet, DaemonSet, ControllerRevision; and ReplicationController."""
