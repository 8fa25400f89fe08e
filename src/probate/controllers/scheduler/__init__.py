"""Which node each pod gets: a ledger of who is where, filters, a choice, a binding."""
