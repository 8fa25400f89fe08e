"""Computes what objects use, what a ResourceQuota counts, and what a LimitRange requires. Pure functions."""
