"""Calls webhooks: HTTPS client, endpoints, conversion."""
