"""PodDisruptionBudgets: how many pods of an application may be given up on purpose just now. Evictions go by that."""
