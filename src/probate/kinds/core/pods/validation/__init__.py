"""Pods, and the templates from which workloads make them: one module for each part of a Pod's spec."""
