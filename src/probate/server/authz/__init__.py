"""Who may do what here. `api.rbac` has the rules; this asks them about requests."""
