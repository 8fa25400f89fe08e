"""What the server reports about itself: health checks, metrics, its version."""
