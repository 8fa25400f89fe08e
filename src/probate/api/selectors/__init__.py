"""Label selectors and field selectors: parsing, validation, matching."""
