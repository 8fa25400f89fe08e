"""The distributed engine: implements `store.contract` on etcd 3.4 or newer.

rpc             the connection: addresses, members and failover, failures, generated messages
layout          which key of etcd holds what; layout_version guards against a newer layout
messages        translates transactions into etcd's messages, and etcd's answers into results
write_slots     determines exactly what happened to a write whose answer was lost
reads           everything that only reads
writes          commits; batches decides which may run concurrently
shared_watch    delivers the changes of one etcd watch to the watch hub
freshness       bounds how stale the watch may be
compaction      compaction, and which revision was reached at which time
store           combines these into a store; store_check checks one for damage
"""
