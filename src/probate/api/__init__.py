"""What an object is: names, metadata, owners, selectors, schemas, the patch types, tables. Pure."""
