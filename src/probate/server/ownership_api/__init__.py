"""The ownership API: owners and dependents of one object, and the graph around several."""
