"""Small concurrency helpers: supervised tasks, shared timeouts, blocking calls on threads, fair time slices on the event loop."""
