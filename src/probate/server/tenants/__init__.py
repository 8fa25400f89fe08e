"""Requests of tenants' users: which context handles them, which paths they may read, and the credentials that they get."""
