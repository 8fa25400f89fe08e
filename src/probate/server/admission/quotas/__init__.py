"""ResourceQuotas and LimitRanges: counted, held to, and told."""
