"""PodDisruptionBudgets: how many pods of an application may be evicted at the moment."""
