"""Reads and writes objects as JSON and YAML documents, as Kubernetes does."""
