"""Servers of others that are asked about objects: how they are reached, what they are sent, how far they are trusted."""
