"""Who may do what here. `machinery.rbac` has the rules; this asks them about requests."""
