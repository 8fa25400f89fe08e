"""Services, Endpoints and EndpointSlices."""
