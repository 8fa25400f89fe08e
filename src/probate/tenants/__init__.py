"""Tenants: several clusters on one server (ADR 10). Not served yet: only the conversion between the views exists."""
