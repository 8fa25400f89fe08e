"""`probate tenant …`: creates, lists, checks and deletes tenants on a running server."""
