"""How much objects use, what a ResourceQuota counts of that, and what a LimitRange wants of each. Pure."""
