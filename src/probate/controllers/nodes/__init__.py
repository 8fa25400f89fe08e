"""Node lifecycle: health, taints, evictions, nodes whose machines are gone."""
