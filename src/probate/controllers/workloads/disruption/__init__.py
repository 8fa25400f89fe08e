"""PodDisruptionBudgets: how many pods of an application may be evicted now."""
