"""Validating and mutating admission webhooks: which are called, what they are sent, and how their answers are checked."""
