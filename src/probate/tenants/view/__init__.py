"""Pure conversion between a tenant's names and the store's."""
