"""The distributed engine: etcd 3.4 or newer.

address     what an etcd:// address says
layout      where things lie in etcd
endpoints   connections, failover, and what each failure means (failures)
requests    transactions as etcd's messages, and its answers as ours
slots       how a write whose answer was lost is found out about
writes      commits on top of both; batches says which may run side by side
reads       everything that only reads
feed        the changes, from etcd's watch into the hub
past        compaction, and which revision was reached when
store       puts them together
"""
