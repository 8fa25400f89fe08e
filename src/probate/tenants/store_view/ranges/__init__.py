"""The ranges of a tenant's keys, each as what it is in the physical store."""
