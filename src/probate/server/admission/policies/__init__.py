"""Admission policies: which are asked about a write, what they are asked, and what becomes of what they say."""
