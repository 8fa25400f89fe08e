"""The store as one tenant sees it: the contract of the store in the tenant's names, on top of the physical store."""
