"""The embedded engine: implements `store.contract` on one SQLite file, or in memory."""
