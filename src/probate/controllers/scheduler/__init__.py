"""The scheduler: a cache of nodes and their pods, filters, scoring, preemption, binding."""
