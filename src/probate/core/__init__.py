"""Errors, clock, metrics, logs, concurrency: no Kubernetes word. Imports nothing else of Probate."""
