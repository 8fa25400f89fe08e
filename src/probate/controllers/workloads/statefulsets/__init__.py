"""StatefulSets: pods that are not alike. Each has a number, and with it a name and storage of its own, which it keeps for good."""
