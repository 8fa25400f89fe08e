"""The quotas of tenants: what all objects of a tenant may use together."""
