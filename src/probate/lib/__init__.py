"""Self-contained engines without any Probate concept: CEL, regular expressions, cron, JSON Patch, JSONPath, protobuf, X.509."""
