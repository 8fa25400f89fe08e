"""The connection to etcd: addresses, members, failures, generated messages."""
