"""Volumes of pods: sources, mounts, defaults, warnings."""
