"""DaemonSets: one pod on every eligible node, for as long as the node exists."""
