"""Deployments: pure rollout decisions, and the controller that applies them."""
