"""What controllers share: the reconcilers and their queue, Events, leader election, and small helpers."""
