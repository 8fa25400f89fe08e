"""The audit log: who sent which request from where and with which outcome, and what the server's controllers deleted and why."""
