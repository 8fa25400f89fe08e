"""What is written down of requests: by which policy, in which shape, and what of it never is. Pure."""
