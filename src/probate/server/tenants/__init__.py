"""Requests of tenants' users: which context handles them, and which paths they may read."""
