"""X.509 certificates and PEM files."""
