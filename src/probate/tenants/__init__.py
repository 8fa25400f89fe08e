"""Tenants: several clusters on one server (ADR 10)."""
