"""Reads and writes objects: what the verbs share."""
