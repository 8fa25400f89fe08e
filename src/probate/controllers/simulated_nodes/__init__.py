"""Simulated nodes: pods start, run and end on them by the clock, without a container runtime."""
