"""Pods, and pod templates wherever they are."""
