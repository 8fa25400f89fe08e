"""DaemonSets: one pod on every node that it is meant for, for as long as the node is there."""
