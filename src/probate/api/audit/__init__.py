"""Audit policy and audit events: which requests are logged, in which form, and what is redacted. Pure."""
