"""Controllers of tenants: what each tenant has from the beginning."""
