"""Probate: a Kubernetes-compatible API server with complete garbage collection."""

__version__ = "0.1.0"
