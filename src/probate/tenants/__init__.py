"""Many users in one store, each with a cluster of their own."""
