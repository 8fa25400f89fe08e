"""The places where the collector's objects live. Each backend implements `gc.backend.Backend`."""
