"""Small concurrency parts that know nothing of Probate: tasks that must not end, work off the loop."""
