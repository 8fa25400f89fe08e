"""Provisions and terminates tenants."""
