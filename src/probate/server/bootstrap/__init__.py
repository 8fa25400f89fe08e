"""Creates in the store what every server needs before it serves: namespaces, RBAC roles, default objects."""
