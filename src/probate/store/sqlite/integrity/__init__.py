"""Checks of stored data: checksums of rows, and the check of a whole store file."""
