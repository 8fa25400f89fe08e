"""Deployment rollouts: pure decisions, and the controller that carries them out."""
