"""The backend of the embedded store: every action of the collector is one guarded transaction."""
