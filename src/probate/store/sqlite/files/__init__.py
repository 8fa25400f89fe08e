"""The files of a SQLite store: locks, checks, checkpoints, watermark."""
