"""The API client and informers. How requests reach the server is behind `transport`."""
