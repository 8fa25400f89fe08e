"""Engines that could be packages of their own: CEL, regular expressions, cron, JSON patch, JSONPath. No Probate word."""
