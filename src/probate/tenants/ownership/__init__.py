"""Which tenant an object belongs to: the store layer that records it in every transaction, and the audit of what it recorded."""
