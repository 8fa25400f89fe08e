"""The kind Tenant, which Kubernetes does not have: the group `tenant.kubezoo.io`."""
