"""The connection to etcd: address, members, failures, generated messages."""
