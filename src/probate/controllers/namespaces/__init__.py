"""Deletes what is in a namespace, or of a custom kind, before the namespace or CRD is removed."""
