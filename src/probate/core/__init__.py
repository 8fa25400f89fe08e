"""Errors, clock, metrics, logs, concurrency: nothing that is specific to Kubernetes. Imports no other package of Probate."""
