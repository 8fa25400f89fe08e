"""Admission across views: what a tenant configures, for all writes of its objects; what the platform has, for tenants' writes."""
