"""Reads the ownership index: metadata of owners and dependents."""
