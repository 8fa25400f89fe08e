"""Validates Pods and pod templates: one module for each part of a Pod's spec."""
