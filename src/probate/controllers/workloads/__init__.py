"""Controllers that make dependents: one kind a file."""
