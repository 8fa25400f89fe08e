"""Claims get volumes; volumes whose claims are gone are deleted, recycled or kept."""
