"""The API client, in process or over HTTP, and informers."""
