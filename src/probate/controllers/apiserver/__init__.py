"""Controllers that maintain the status of objects about the API server itself."""
