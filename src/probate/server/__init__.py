"""The API server: turns a parsed request into a store transaction and a response."""
