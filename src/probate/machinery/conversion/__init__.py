"""Kinds that are served in versions of different shape: one version is stored, the others are made from it and read into it.

In Kubernetes 1.37 these are two: events (core/v1 is stored, events.k8s.io/v1 is made) and horizontal pod autoscalers (v2 is stored,
v1 is made). Versions of the same shape need nothing: only `apiVersion` tells them apart.
"""
