"""The backend for our own store: every action of the collector is one guarded transaction."""
