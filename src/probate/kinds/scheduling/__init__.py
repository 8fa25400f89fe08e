"""PriorityClass, PodDisruptionBudget and RuntimeClass."""
