"""Subresources with a body of their own: binding, eviction, scale, token. One module each."""
