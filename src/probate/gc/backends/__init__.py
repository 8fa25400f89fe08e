"""Where the collector's objects live. Each backend implements `gc.backend`."""
