"""The ResourceQuota and LimitRanger admission plugins, and the status of ResourceQuotas."""
