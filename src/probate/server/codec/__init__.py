"""Conversion between bytes and objects: request bodies, responses, content negotiation, version conversion."""
