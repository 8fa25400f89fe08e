"""Converts between a tenant's view and the physical view, in which the names of a tenant's objects begin with its id."""
