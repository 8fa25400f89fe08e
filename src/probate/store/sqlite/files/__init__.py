"""The files of a SQLite store: lock, checks, checkpoints, watermark."""
