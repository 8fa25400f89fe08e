"""Versioned keys, atomic guarded transactions, watch. `contract` is the seam; `sqlite` and `etcd` implement it."""
