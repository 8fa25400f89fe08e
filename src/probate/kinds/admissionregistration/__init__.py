"""The kinds of admissionregistration.k8s.io: webhook configurations, admission policies and their bindings."""
