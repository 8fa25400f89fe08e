"""The options of `probate serve`, in the groups of its help and of docs/settings.md."""
