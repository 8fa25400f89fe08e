"""Certificates and PEM texts."""
