"""The audit log: who asked for what, from where, and what became of it; and what the server's own controllers deleted, and why."""
